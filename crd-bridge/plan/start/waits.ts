/** What a start waits for: the right Temporal, admission, a plan that was checked. */
import { ANNOTATIONS } from '../../../api/core/group.js';
import type { DRPlan } from '../../../api/plan/types.js';
import type { StartDecision } from '../../core/kind.js';
import { isElsewhere } from '../../core/temporal-identity.js';
import { rowOf } from '../lock/history.js';
import { waitingStatus } from '../status/projection.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { judgeAdmissionStamp } from './admission-stamp.js';
import { holdFor } from './hold.js';
import { refOf } from '../../core/object-ref.js';
import { nameOfTemporal } from './identity.js';
import { refuse, Refused } from './refused.js';

/** Time between two checks whether the bridge is connected to the right Temporal again. */
const TEMPORAL_LOOK_MS = 15_000;
/** Time between two checks whether admission is ready. */
const ADMISSION_LOOK_MS = 1_000;

/**
 * A start that got as far as the lock while the bridge was connected to another Temporal may have begun there: a
 * second start is not allowed just because the run is not found here.
 */
export async function awaitTemporal(
  deps: Pick<DrDeps, 'caches' | 'runs' | 'writer'>,
  execution: CachedExecution,
  plan: DRPlan,
): Promise<StartDecision | undefined> {
  const locked = rowOf(plan.status?.executionHistory, execution.metadata.uid ?? '')?.temporal;
  const connected = await deps.runs.where();
  if (!isElsewhere(locked, connected)) return undefined;
  const message = `it may have been started in ${nameOfTemporal(locked)}, and the bridge is connected to ${nameOfTemporal(connected)}; connect it to that one, or delete this execution and create a new one`;
  await deps.writer.status(deps.caches.executions, refOf(execution), ({ status, metadata }) =>
    waitingStatus(
      status,
      { reason: 'TemporalMismatch', message, generation: metadata.generation },
      new Date().toISOString(),
    ),
  );
  return { kind: 'wait', ms: TEMPORAL_LOOK_MS };
}

/**
 * Where webhooks review executions, what they have not let in does not start, and nothing starts before they are
 * ready.
 */
export async function awaitAdmission(
  deps: DrDeps,
  execution: CachedExecution,
): Promise<StartDecision | undefined> {
  const { namespace = '', annotations } = execution.metadata;
  const isAsked = deps.settings.answers.verified && deps.isAdmitted(namespace);
  const missing = isAsked ? deps.admissionMissing() : undefined;
  if (missing !== undefined) {
    return holdFor(deps, ADMISSION_LOOK_MS, execution, {
      reason: 'AdmissionNotReady',
      message: `nothing starts before admission is there: ${missing}`,
    });
  }
  if (!isAsked && annotations?.[ANNOTATIONS.admission] === undefined) return undefined;
  const found = await judgeAdmissionStamp(deps.sealer, execution);
  switch (found.kind) {
    case 'admitted':
      return undefined;
    case 'unknownKey':
      return holdFor(deps, ADMISSION_LOOK_MS, execution, {
        reason: 'NotSealed',
        message: `its stamp of admission was made under key "${found.keyId}", which the ring of seals lacks; check Secret drover-seal`,
      });
    case 'copy':
      throw new Refused(found.refusal);
    case 'refused':
      if (isAsked) throw new Refused(found.refusal);
      return undefined;
  }
}

/** Waits for the check of a plan. */
export interface PlanWait {
  /** @returns undefined once the plan was checked in its present form */
  look(execution: CachedExecution, plan: DRPlan): Promise<StartDecision | undefined>;
  /** The execution no longer waits. */
  forget(uid: string): void;
}

/** Remembers since when each execution waits. */
export function createPlanWait(deps: DrDeps): PlanWait {
  const waitingSince = new Map<string, number>();
  const { planWaitMs } = deps.settings;
  return {
    async look(execution, plan) {
      const { phase, observedGeneration } = plan.status ?? {};
      const isObserved =
        phase !== undefined && phase !== '' && observedGeneration === plan.metadata.generation;
      if (isObserved) return undefined;
      const uid = execution.metadata.uid ?? '';
      const since = waitingSince.get(uid) ?? Date.now();
      waitingSince.set(uid, since);
      const left = since + planWaitMs - Date.now();
      const message = `waiting until plan "${plan.metadata.name}" (generation ${plan.metadata.generation}) is checked`;
      if (left <= 0) {
        return refuse(
          'PlanNotObserved',
          `gave up ${message} after ${planWaitMs / 1000}s; see the plan's status and the bridge's log`,
        );
      }
      // The usual wait is over in a moment and not worth two writes.
      const visibleAfterMs = 1000;
      if (left > planWaitMs - visibleAfterMs) return { kind: 'wait', ms: visibleAfterMs };
      return holdFor(deps, left, execution, { reason: 'PlanNotObserved', message });
    },
    forget: (uid) => {
      waitingSince.delete(uid);
    },
  };
}
