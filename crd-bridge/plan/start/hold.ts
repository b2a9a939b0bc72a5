/** Executions that wait for their start: marked as ours, and showing why they wait. */
import { ANNOTATIONS, FINALIZERS, LABELS } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import { labelValue } from '../../../api/plan/naming.js';
import type { StartDecision } from '../../core/kind.js';
import { waitingStatus } from '../status/projection.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { checkAbandoned, checkRestored } from './checks.js';
import { refOf } from '../../core/object-ref.js';

type HoldDeps = Pick<DrDeps, 'caches' | 'writer'>;

/** Why an execution waits. */
export interface Wait {
  reason: string;
  message: string;
}

/**
 * Shows what keeps an execution from being started; leaves alone what belongs to another controller.
 *
 * @returns whether the execution exists and is ours
 */
export async function hold(
  deps: HoldDeps,
  execution: CachedExecution,
  { reason, message }: Wait,
): Promise<boolean> {
  const { caches, writer } = deps;
  if ((checkAbandoned(execution) ?? checkRestored(execution)) !== undefined) return false;
  // A phase without our stamp would make it another controller's.
  if ((await stamp(deps, execution)) === undefined) return false;
  await writer.status(caches.executions, refOf(execution), ({ status, metadata }) =>
    status?.temporal !== undefined || isTerminalExecution(status?.phase)
      ? undefined
      : waitingStatus(status, { reason, message, generation: metadata.generation }, new Date().toISOString()),
  );
  return true;
}

/** Shows it, and looks again after a time. */
export async function holdFor(
  deps: HoldDeps,
  ms: number,
  execution: CachedExecution,
  wait: Wait,
): Promise<StartDecision> {
  return (await hold(deps, execution, wait)) ? { kind: 'wait', ms } : { kind: 'refused' };
}

/**
 * Finalizer, label and a stamp: from here on the execution is marked as ours. Admission has written them on what it
 * has let in, except for the uid, which is not known then; without admission they are written here.
 */
export async function stamp(
  { caches, writer }: HoldDeps,
  execution: CachedExecution,
): Promise<CachedExecution | undefined> {
  const result = await writer.metadata(caches.executions, refOf(execution), ({ metadata }) => {
    if (metadata.deletionTimestamp !== undefined) return undefined;
    const finalizers = (metadata.finalizers ?? []).filter((name) => name !== FINALIZERS.legacyExecution);
    const isAdmitted = metadata.annotations?.[ANNOTATIONS.admission] !== undefined;
    return {
      labels: { ...metadata.labels, [LABELS.plan]: labelValue(execution.spec.planRef) },
      annotations: {
        ...metadata.annotations,
        ...(!isAdmitted && { [ANNOTATIONS.stamp]: metadata.uid ?? '' }),
      },
      finalizers: finalizers.includes(FINALIZERS.execution)
        ? finalizers
        : [...finalizers, FINALIZERS.execution],
    };
  });
  if (result.kind === 'gone' || result.object.metadata.deletionTimestamp !== undefined) return undefined;
  return result.object;
}
