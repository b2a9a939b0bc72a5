/** Checks before a run begins whether it can be begun and reverted. */
import type { Refusal } from '../../../api/core/refusal.js';
import { findDescriptor } from '../../../api/plan/actions/table.js';
import type { Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { ActionStatus, DRPlanExecution, StageStatus } from '../../../api/plan/types.js';
import { MAX_STATUS_BYTES } from '../status/size-guard.js';
import { checkInputSize, workOf } from './work.js';
import type { Work } from './work.js';

/** Most bytes that an action without texts of its own takes in the input of a run. */
const ACTION_BYTES = 1024;
/** Most bytes of the outputs of an action whose type does not say how many. */
const OUTPUT_BYTES = 700;
/** An input below this size fits without being put together to see that. */
const SURELY_FITS_BYTES = 512 * 1024;

/**
 * Whether Temporal accepts a run of a plan, and its revert after all of it was done: what cannot be undone must not
 * begin (S6.10). What actions leave behind is not known yet: what custom rollbacks read of it counts at
 * its largest; a revert does without the rest where that would not fit.
 *
 * @param snapshot one that compiles
 */
export function checkFits(snapshot: Snapshot): Refusal | undefined {
  if (isSurelySmall(snapshot)) return undefined;
  const work = workOf(snapshot, undefined);
  const tooLarge = checkInputSize(work);
  if (tooLarge !== undefined) return tooLarge;
  const { plan } = snapshot;
  const done: DRPlanExecution = {
    metadata: { name: plan.name, namespace: plan.namespace, uid: plan.uid },
    spec: { planRef: plan.name, operationType: 'Execute' },
    status: { phase: 'Succeeded', stageStatuses: work.statuses.map(asDone) },
  };
  const revert = workOf(snapshot, done);
  return checkInputSize(revert, { isForeseen: true, more: readByRollbacks(revert) });
}

/**
 * How many bytes the outputs that rollbacks read may come to: a revert carries each of them once, and status holds no
 * more.
 */
function readByRollbacks({ input }: Work): number {
  const bytes = input.undo.flatMap((stage) => {
    const types = new Map<string, string>();
    const read = new Set<string>();
    for (const { at, input: action, outputs } of stage.steps) {
      types.set(`${at.workflow}/${action.name}`, action.type);
      for (const name of Object.keys(outputs)) read.add(`${at.workflow}/${name}`);
    }
    return [...read].map((key) => findDescriptor(types.get(key))?.outputBytes ?? OUTPUT_BYTES);
  });
  return Math.min(
    MAX_STATUS_BYTES,
    bytes.reduce((sum, one) => sum + one, 0),
  );
}

/** Whether a snapshot is so small that its run fits, as nearly all are: then it need not be compiled to know. */
export const isSurelySmall = (snapshot: Snapshot): boolean => atMost(snapshot) < SURELY_FITS_BYTES;

/** Upper bound for the input of a run: texts of workflows and parameters for each use, and what is added to them. */
function atMost({ plan, workflows, params }: Snapshot): number {
  const sizes = new Map(
    Object.entries(workflows).map(([key, { spec }]) => [
      key,
      JSON.stringify(spec).length + spec.actions.length * ACTION_BYTES,
    ]),
  );
  const given = JSON.stringify([plan.spec.globalParams ?? [], params]).length;
  const uses = plan.spec.stages.flatMap((stage) => stage.workflows);
  return uses.reduce((sum, { workflowRef, params: own }) => {
    const key = `${workflowRef.namespace || plan.namespace}/${workflowRef.name}`;
    return sum + (sizes.get(key) ?? 0) + given + JSON.stringify(own ?? []).length;
  }, JSON.stringify(plan.spec.stages).length);
}

function asDone(stage: StageStatus): StageStatus {
  let order = 0;
  const action = (status: ActionStatus): ActionStatus => ({
    ...status,
    phase: 'Succeeded',
    effect: 'Done',
    round: 0,
    order: (order += 1),
  });
  return {
    ...stage,
    phase: 'Succeeded',
    workflowExecutions: (stage.workflowExecutions ?? []).map((workflow) => ({
      ...workflow,
      phase: 'Succeeded',
      actionStatuses: (workflow.actionStatuses ?? []).map(action),
    })),
  };
}
