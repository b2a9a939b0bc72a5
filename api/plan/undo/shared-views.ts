/** Outputs that several steps of a revert read travel once with their stage, where a revert would be too large otherwise. */
import type { OutputViews, UndoStageInput, UndoStep } from '../snapshot/run.js';

/** Anything shorter is repeated in each step that reads it. */
const WORTH_SHARING_CHARACTERS = 100;

/** A stage whose steps name what they read of the stage's list. What is read stays the same: see {@link viewsOfStep}. */
export function shareViews(stage: UndoStageInput): UndoStageInput {
  const views: NonNullable<UndoStageInput['views']> = [];
  const places = new Map<string, number>();
  const steps = stage.steps.map((step): UndoStep => {
    const outputs: OutputViews = {};
    const shared: Record<string, number> = {};
    for (const [name, view] of Object.entries(step.outputs)) {
      const text = JSON.stringify(view);
      if (text.length < WORTH_SHARING_CHARACTERS) {
        outputs[name] = view;
        continue;
      }
      const place = places.get(text) ?? views.push(view) - 1;
      places.set(text, place);
      shared[name] = place;
    }
    return Object.keys(shared).length === 0 ? step : { ...step, outputs, shared };
  });
  return views.length === 0 ? stage : { ...stage, steps, views };
}

/** What a step reads of the outputs of actions. */
export function viewsOfStep({ views = [] }: Pick<UndoStageInput, 'views'>, step: UndoStep): OutputViews {
  const { outputs, shared = {} } = step;
  const found = Object.entries(shared).flatMap(([name, place]) => {
    const view = views[place];
    return view === undefined ? [] : [[name, view] as const];
  });
  return { ...outputs, ...Object.fromEntries(found) };
}
