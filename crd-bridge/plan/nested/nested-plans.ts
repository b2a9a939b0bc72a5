import { actionInScope, judgeWhen } from '../../../api/plan/actions/action-scope.js';
import { withNamedPhases } from '../../../api/plan/snapshot/named-phases.js';
import { RenderError } from '../../../api/plan/template/render.js';
import type { ActionBody } from '../../../api/plan/snapshot/run.js';
import { resolveBody } from '../../../api/plan/snapshot/snapshot.js';
import type { ActionTask } from '../../../workflows/plan/contract-tasks.js';
import type { BridgeActivities, NestedState } from '../../../workflows/plan/contract-bridge.js';
import { lookAtExecute } from './execute.js';
import { lookAtInverse } from './inverse.js';
import { createNestedObjects } from './objects.js';
import type { NestedDeps } from './objects.js';
import { failed } from './outcome.js';

/**
 * The activity by which runs have other plans run: each call looks at the current state and does the next thing, so
 * that it does not matter how often, from where and after which crash it is called. It never waits.
 *
 * Values of placeholders are filled in here and not in the run, so that possible secrets stay out of its history.
 */
export function createNestedPlans(deps: NestedDeps): Pick<BridgeActivities, 'nestedPlan'> {
  const objects = createNestedObjects(deps);

  /** What a task is carried out by, and the task with everything by name that it carries by position. */
  async function read(
    task: ActionTask,
  ): Promise<{ body: ActionBody; task: ActionTask } | { unreadable: string }> {
    if (task.body !== undefined && task.packedPhases === undefined) return { body: task.body, task };
    try {
      const snapshot = await deps.snapshots.read(task.run.snapshot);
      const body = task.body ?? resolveBody(snapshot, task.at);
      return { body, task: withNamedPhases(task, snapshot) };
    } catch (error) {
      if (error instanceof Error && error.name !== 'KubeError') return { unreadable: error.message };
      throw error;
    }
  }

  return {
    async nestedPlan(asked) {
      const vouched = await deps.vouching.task(asked.task, { stop: asked.stop === true });
      if ('reason' in vouched) return failed(vouched);
      const found = await read(vouched.task);
      if ('unreadable' in found)
        return failed({ reason: 'SnapshotLost', message: found.unreadable }, 'Unknown');
      const { task, body } = found;
      const look = { ...asked, task };
      const stranger = deps.vouching.action(task, body);
      if (stranger !== undefined) return failed(stranger);
      const { action, scope, custom } = actionInScope(task, body);
      if (task.direction === 'undo' && !custom) return lookAtInverse(objects, look);
      try {
        // Once the nested plan runs, it does not matter what the condition would give now.
        const unmet =
          action.when === undefined || look.known !== undefined
            ? undefined
            : judgeWhen(action.when, task, scope);
        if (unmet !== undefined) return stateWhenUnmet(unmet);
        return await lookAtExecute(objects, look, action, scope);
      } catch (error) {
        if (error instanceof RenderError) return failed({ reason: error.reason, message: error.message });
        throw error;
      }
    },
  };
}

function stateWhenUnmet(unmet: NonNullable<ReturnType<typeof judgeWhen>>): NestedState {
  const { kind, reason, message } = unmet;
  return kind === 'failed'
    ? failed(unmet)
    : { kind: 'ended', outcome: { phase: 'Skipped', reason, message } };
}
