/** What an action is carried out with: the action or its custom rollback, its values, and whether its `when` lets it. */
import { rollbackOf } from './action-defaults.js';
import { modeText } from '../order/hooks.js';
import type { RenderScope } from '../template/render.js';
import type { ActionBody, OutputViews } from '../snapshot/run.js';
import type { Action } from '../types.js';
import { evaluateWhen } from '../when/when.js';

/** What of a task decides about it. */
export interface ActionView {
  run: {
    plan: { name: string };
    name: string;
    operation: 'Execute' | 'Revert';
    mode?: string;
    runMode: string;
    target?: { name: string; mode?: string };
  };
  direction: 'forward' | 'undo';
  outputs: OutputViews;
  phases: Record<string, string>;
}

/** An action and the values for its placeholders. */
export interface ActionInScope {
  /** For an undo with a custom rollback that rollback, as an action of its own. */
  action: Action;
  scope: RenderScope;
  custom: boolean;
}

/** The action that is carried out, its rollback where it is undone by one, and the values for its placeholders. */
export function actionInScope(view: ActionView, body: ActionBody): ActionInScope {
  const { run, direction, outputs } = view;
  const rollback = direction === 'undo' ? rollbackOf(body.action) : undefined;
  const inverse = direction === 'undo' && rollback === undefined;
  const mode = modeOf(view, inverse);
  const { params } = body;
  const scope: RenderScope = {
    // A mode of the execution is a parameter too, and what undoes it rolls back.
    params: rollback !== undefined && isModeGiven(view) ? { ...params, mode: modeText('Rollback') } : params,
    planName: run.plan.name,
    // What is undone was named after the execution that did it, whoever undoes it.
    executionName: direction === 'undo' ? (run.target?.name ?? run.name) : run.name,
    // The automatic inverse renders the action as it was executed.
    operation: inverse ? 'Execute' : run.operation,
    ...(mode !== undefined && { mode: modeText(mode) }),
    outputs,
  };
  return { action: rollback ?? body.action, scope, custom: rollback !== undefined };
}

/** The automatic inverse renders the action as it was executed; a custom rollback rolls back. */
function modeOf({ run, direction }: ActionView, inverse: boolean): string | undefined {
  if (direction === 'forward') return run.mode;
  if (!inverse) return 'Rollback';
  return run.target === undefined ? run.mode : run.target.mode;
}

/** Whether the execution that did what is undone had a mode. */
const isModeGiven = ({ run }: ActionView): boolean =>
  (run.target === undefined ? run.mode : run.target.mode) !== undefined;

/** How an action ends because of its `when`; undefined when it goes on. */
export function judgeWhen(
  expression: string,
  { run, outputs, phases }: ActionView,
  scope: RenderScope,
):
  | { kind: 'failed'; reason: string; message: string }
  | { kind: 'skipped'; reason: string; message: string }
  | undefined {
  const result = evaluateWhen(expression, {
    params: scope.params,
    outputs,
    phases,
    ...(run.mode !== undefined && { mode: run.mode }),
    runMode: run.runMode,
    operation: run.operation,
  });
  if ('error' in result) return { kind: 'failed', reason: 'InvalidExpression', message: result.error };
  if (result.value) return undefined;
  return { kind: 'skipped', reason: 'WhenFalse', message: `when is false: ${expression.slice(0, 200)}` };
}
