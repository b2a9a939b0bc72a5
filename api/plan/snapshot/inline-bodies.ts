/** Which bodies travel inside a run: an activity reads the others from the snapshot. */
import type { ActionInput, StageInput } from './run.js';
import { carriesSecret } from './secrecy.js';

/** Bodies travel inside the run up to this size in sum; above it, activities read the snapshot. */
export const MAX_INLINE_BYTES = 256 * 1024;

/**
 * Drops what may not travel inside the run: secret bodies, all bodies when they are too large in sum, and what conditions of
 * stages use when that alone is too large. Activities find it in the snapshot.
 */
export function limitBodies(stages: StageInput[], limit: number): StageInput[] {
  const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
  const used = stages.reduce((sum, { whenParams = {} }) => sum + sizeOf(whenParams), 0);
  let size = used > limit ? 0 : used;
  const keep = (action: ActionInput): ActionInput => {
    const { body, ...rest } = action;
    if (body === undefined || carriesSecret(body)) return rest;
    size += sizeOf(body);
    return action;
  };
  const lean = used > limit ? stages.map(({ whenParams: _, ...stage }) => stage) : stages;
  const withBodies = mapActions(lean, keep);
  return size <= limit ? withBodies : mapActions(lean, ({ body: _, ...rest }) => rest);
}

function mapActions(stages: StageInput[], change: (action: ActionInput) => ActionInput): StageInput[] {
  return stages.map((stage) => ({
    ...stage,
    workflows: stage.workflows.map((workflow) => ({ ...workflow, actions: workflow.actions.map(change) })),
  }));
}
