/** What is made of an object of an archive so that it can be created in another cluster. Pure. */
import { ANNOTATIONS } from '../../../../api/core/group.js';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution, DRPlanStatus } from '../../../../api/plan/types.js';
import type { KubeMeta, KubeObject } from '../../../../kube/object.js';

/** Uids of executions: what they were, and what they have become. */
export type Uids = ReadonlyMap<string, string>;

/** What a person has written of an object, without what its server has. */
export function recreatable(object: KubeObject, owners?: KubeMeta['ownerReferences']): KubeObject {
  const { status: _, ...body } = object;
  const { name, namespace, labels, annotations } = object.metadata;
  return {
    ...body,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
      ...(owners !== undefined && owners.length > 0 && { ownerReferences: owners }),
    },
  };
}

/** Characters of a uid that the id of a run ends in. */
const RUN_ID_DIGITS = 8;

/**
 * The stamp of a restored execution: the uid of the execution that has run (S5.60). One that was restored before
 * keeps the stamp that it has.
 */
export function stampOf({ metadata, status }: DRPlanExecution): string {
  const stamp = metadata.annotations?.[ANNOTATIONS.stamp];
  const isOfRun =
    stamp !== undefined &&
    status?.temporal?.workflowId.endsWith(`/${stamp.slice(0, RUN_ID_DIGITS)}`) === true;
  return isOfRun ? stamp : (metadata.uid ?? '');
}

/**
 * The executions that own an object, by the uids that they have now; undefined while one of them has none. Other owners are
 * not restored, and garbage collection would take the object for an orphan of theirs.
 */
export function newOwnersOf(
  { ownerReferences = [] }: Pick<KubeMeta, 'ownerReferences'>,
  uids: Uids,
): NonNullable<KubeMeta['ownerReferences']> | undefined {
  const ours = ownerReferences.filter(({ kind }) => kind === 'DRPlanExecution');
  const owners = ours.flatMap((owner) => {
    const uid = uids.get(owner.uid);
    return uid === undefined ? [] : [{ ...owner, uid }];
  });
  return owners.length === ours.length ? owners : undefined;
}

/**
 * An execution that never starts: its stamp says of which execution it is a copy. Without finalizers, which the bridge puts
 * on what needs one.
 *
 * @param uids of executions that own it
 * @returns undefined while one that owns it has not been restored
 */
export function copyOf(execution: DRPlanExecution, uids: Uids): KubeObject | undefined {
  const { annotations = {} } = execution.metadata;
  const owners = newOwnersOf(execution.metadata, uids);
  if (owners === undefined) return undefined;
  const { [ANNOTATIONS.heldFor]: _, ...kept } = annotations;
  const object = execution as unknown as KubeObject;
  const marked = { ...object.metadata, annotations: { ...kept, [ANNOTATIONS.stamp]: stampOf(execution) } };
  return recreatable({ ...object, metadata: marked }, owners);
}

/** A value in which executions are named by what their uids have become. */
export function withNewUids<T>(value: T, uids: Uids): T {
  if (Array.isArray(value)) return value.map((item: unknown) => withNewUids(item, uids)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]: [string, unknown]) => [
      key,
      (key === 'uid' || key === 'revertOf') && typeof item === 'string'
        ? (uids.get(item) ?? item)
        : withNewUids(item, uids),
    ]),
  ) as T;
}

/** Condition of a plan that says whether it is executed, whatever its phase. */
const EXECUTED = 'Executed';

/**
 * The status of a plan that was just created, with what only the archive knows: its history, and whether it is
 * executed. The plan is free: what ran when the backup was taken does not run here, and its row says Failed.
 */
export function planStatusOf(
  current: DRPlanStatus | undefined,
  archived: DRPlanStatus,
  { uids, takenAt }: { uids: Uids; takenAt: string },
): DRPlanStatus {
  const { executedBy, executionHistory, lastExecutionRef, lastExecutionTime } = withNewUids(archived, uids);
  const executed = archived.conditions?.find(({ type }) => type === EXECUTED);
  const others = (current?.conditions ?? []).filter(({ type }) => type !== EXECUTED);
  const conditions = [...others, ...(executed === undefined ? [] : [executed])];
  const wasExecuted =
    archived.phase === EXECUTED || (archived.phase === 'Invalid' && executed?.status === 'True');
  return {
    ...current,
    ...(executedBy !== undefined && { executedBy }),
    ...(lastExecutionRef !== undefined && { lastExecutionRef }),
    ...(lastExecutionTime !== undefined && { lastExecutionTime }),
    ...(executionHistory !== undefined && {
      executionHistory: executionHistory.map((row) =>
        isTerminalExecution(row.phase) ? row : { ...row, phase: 'Failed', completionTime: takenAt },
      ),
    }),
    ...(conditions.length > 0 && { conditions }),
    // Until a bridge has looked at it, the phase decides whether it may be executed again.
    ...(wasExecuted && current?.phase !== 'Invalid' && { phase: EXECUTED }),
  };
}

/**
 * The status that a copy is given; undefined where the archive has none that says more than that it never ran.
 */
export const statusOf = ({ status }: DRPlanExecution): DRPlanExecution['status'] =>
  isTerminalExecution(status?.phase) || status?.temporal !== undefined ? status : undefined;

/** Whether a copy still lacks the status of the archive: a bridge may have ended it as a copy meanwhile. */
export const lacksStatus = (current: DRPlanExecution['status']): boolean =>
  (current?.phase ?? '') === '' || (current?.reason === 'RestoredCopy' && current.temporal === undefined);
