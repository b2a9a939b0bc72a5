/** Whether a run can be begun and reverted, said before it begins. */
import type { Snapshot } from '../../api/snapshot.js';
import type { ActionStatus, DRPlanExecution, StageStatus } from '../../api/types.js';
import type { Refusal } from './gates.js';
import { checkInputSize, workOf } from './work.js';

/** An action without texts of its own takes less in the input of a run. */
const ACTION_BYTES = 1024;
/** What takes less than this need not be put together to see that it fits. */
const SURELY_FITS_BYTES = 512 * 1024;

/**
 * Whether Temporal takes a run of a plan, and its revert after all of it was done: what cannot be undone must not begin
 * (plan semantics, §6). What actions leave behind is not known yet: where it would not fit a revert does without it.
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
  return checkInputSize(workOf(snapshot, done), { isForeseen: true });
}

/** Whether a snapshot is so small that its run fits, as nearly all are: then it need not be compiled to know. */
export const isSurelySmall = (snapshot: Snapshot): boolean => atMost(snapshot) < SURELY_FITS_BYTES;

/** A bound for what the input of a run holds: texts of workflows and parameters for each use, and what is added to them. */
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
