/**
 * What keeps an execution from starting by accident, late or twice (docs/semantics.md#start): decided from the object
 * and its plan's history alone.
 */
import { ANNOTATIONS, COPY_STAMP } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { Refusal } from '../../../api/core/refusal.js';
import type { DRPlanExecution, DRPlanStatus } from '../../../api/plan/types.js';

/** Reason of an execution that another controller has begun and not ended. */
export const ABANDONED = 'AbandonedByPreviousController';

/** Default of `spec.startDeadlineSeconds`. */
export const START_DEADLINE_SECONDS = 900;

/** Last moment that a Date can hold: more seconds than that mean no deadline. */
const LAST_MOMENT = 8.64e15;

/** The moment after which an execution never starts: the earlier of its creation and its request, plus its deadline. */
export function startDeadline({ metadata, spec }: DRPlanExecution): Date {
  const ms = (spec.startDeadlineSeconds ?? START_DEADLINE_SECONDS) * 1000;
  const created = Date.parse(metadata.creationTimestamp ?? '') + ms;
  const asked = spec.requestedAt === undefined ? created : Date.parse(spec.requestedAt) + ms;
  return new Date(Math.min(created, asked, LAST_MOMENT));
}

/** Labels or annotations that backup tools leave on what they restore. */
const RESTORE_KEYS = ['velero.io/restore-name', 'velero.io/backup-name'];
const RESTORE_PREFIXES = ['k10.kasten.io/'];

/** Labels or annotations by which GitOps tools track what they apply. */
const TRACKING_KEYS = [
  'argocd.argoproj.io/tracking-id',
  'argocd.argoproj.io/instance',
  'app.kubernetes.io/instance',
  'kustomize.toolkit.fluxcd.io/name',
  'helm.toolkit.fluxcd.io/name',
  'meta.helm.sh/release-name',
  'config.k8s.io/owning-inventory',
  'kapp.k14s.io/app',
  'objectset.rio.cattle.io/id',
];

/** The label or annotation by which a GitOps tool tracks an object, if one does. */
export const trackingKey = ({
  labels,
  annotations,
}: Pick<DRPlanExecution['metadata'], 'labels' | 'annotations'>): string | undefined =>
  Object.keys({ ...labels, ...annotations }).find((key) => TRACKING_KEYS.includes(key));

/** Marks that Helm leaves on what a person installs with it; nothing applies that again by itself. */
const HELM_KEYS: ReadonlySet<string> = new Set(['meta.helm.sh/release-name', 'app.kubernetes.io/instance']);

/** Whether an object is tracked by a GitOps tool, which applies what it keeps again by itself. */
export function isGitOps(metadata: Pick<DRPlanExecution['metadata'], 'labels' | 'annotations'>): boolean {
  const keys = Object.keys({ ...metadata.labels, ...metadata.annotations }).filter((key) =>
    TRACKING_KEYS.includes(key),
  );
  const isPlainHelm = keys.includes('meta.helm.sh/release-name') && keys.every((key) => HELM_KEYS.has(key));
  return keys.length > 0 && !isPlainHelm;
}

/** A copy of an execution that another cluster, or this one in the past, has run already. */
export function checkRestored({ metadata, status }: DRPlanExecution): Refusal | undefined {
  const restored = (why: string): Refusal => restoredCopy(why, status);
  const stamp = metadata.annotations?.[ANNOTATIONS.stamp];
  const key = Object.keys({ ...metadata.labels, ...metadata.annotations }).find(
    (name) => RESTORE_KEYS.includes(name) || RESTORE_PREFIXES.some((prefix) => name.startsWith(prefix)),
  );
  if (key !== undefined) return restored(`it carries "${key}", which a restore tool has set`);
  if (stamp === COPY_STAMP)
    return restored('it arrived with marks that only an execution of before can have');
  return stamp === undefined || stamp === metadata.uid
    ? undefined
    : restored(`it carries the stamp of execution ${stamp}, and its own uid is ${metadata.uid}`);
}

/** Characters of a uid that the id of a run ends in. */
const RUN_ID_DIGITS = 8;

/**
 * The uid of the execution that this one is a copy of, restored with its status: what that one has done, and what was kept
 * for its undo, carries that uid (S5.60). It stands in the stamp, and counts only where the recorded run is of that uid:
 * annotations may be anybody's, the status is not.
 */
export function originOf({ metadata, status }: DRPlanExecution): string | undefined {
  const stamp = metadata.annotations?.[ANNOTATIONS.stamp];
  if (stamp === undefined || stamp === metadata.uid || !UID.test(stamp)) return undefined;
  return status?.temporal?.workflowId.endsWith(`/${stamp.slice(0, RUN_ID_DIGITS)}`) === true
    ? stamp
    : undefined;
}

/** A uid as the API server makes them. */
export const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function restoredCopy(why: string, status: DRPlanExecution['status']): Refusal {
  // Of a copy with a status: the original ran when it was backed up, and may have gone on.
  const run = isTerminalExecution(status?.phase) ? undefined : status?.temporal?.workflowId;
  const more =
    run === undefined
      ? ''
      : `; when it was backed up, it ran as "${run}", and what that run has done since is not known here: see to it in its Temporal before this is reverted`;
  return {
    reason: 'RestoredCopy',
    message: `not started: this is a copy of an execution, ${why}${more}; to run the plan on purpose, create a new execution without these labels and annotations`,
  };
}

/** An execution that another controller has begun: it carries none of our stamps, but a phase already. */
export function checkAbandoned(execution: DRPlanExecution): Refusal | undefined {
  const phase = execution.status?.phase;
  if (
    phase === undefined ||
    phase === '' ||
    execution.status?.temporal !== undefined ||
    execution.metadata.annotations?.[ANNOTATIONS.stamp] !== undefined ||
    execution.metadata.annotations?.[ANNOTATIONS.admission] !== undefined
  ) {
    return undefined;
  }
  return {
    reason: ABANDONED,
    message: `another controller left this execution in phase ${phase}, and how far it came is not known; check what it has done, then create a new execution to run the plan on purpose`,
  };
}

/**
 * The run would act as another account than its requester was checked for: the plan, or the installation, was changed
 * in between.
 */
export function checkAuthorizedAs({ metadata }: DRPlanExecution, actsAs: string): Refusal | undefined {
  const recorded = metadata.annotations?.[ANNOTATIONS.authorizedAs];
  if (recorded === undefined || recorded === actsAs) return undefined;
  return {
    reason: 'AccountChanged',
    message: `not started: it was authorised to act as ${recorded}, and would now act as ${actsAs}; look at the plan's serviceAccountName, then create a new execution`,
  };
}

/** How far a time that a person gives may lie ahead of this clock. */
const AHEAD_MS = 5 * 60_000;

/** What executions that a GitOps tool keeps must state: when they were asked for, or nothing. */
export type GitOpsExecutions = 'RequestedAt' | 'AsBefore';

/**
 * An execution that was asked for at another time than it was created: a hub that is rebuilt from Git creates again
 * what is kept there, and must not begin an earlier failover again.
 */
export function checkRequestedAt(
  execution: DRPlanExecution,
  now: Date,
  gitOps: GitOpsExecutions,
): Refusal | undefined {
  const { requestedAt, startDeadlineSeconds = START_DEADLINE_SECONDS } = execution.spec;
  if (requestedAt === undefined) {
    if (gitOps === 'AsBefore' || !isGitOps(execution.metadata)) return undefined;
    return tooOld(
      `"${trackingKey(execution.metadata) ?? ''}" says that a GitOps tool keeps this execution, and it does not say when it was asked for`,
    );
  }
  const asked = Date.parse(requestedAt);
  if (asked - now.getTime() > AHEAD_MS) {
    return {
      reason: 'RequestedAhead',
      message: `not started: spec.requestedAt is ${requestedAt}, and it is ${now.toISOString()} now; at most five minutes ahead are allowed`,
    };
  }
  if (now.getTime() <= asked + startDeadlineSeconds * 1000) return undefined;
  return tooOld(
    `it was asked for at ${requestedAt} and had to start within ${startDeadlineSeconds}s (spec.startDeadlineSeconds)`,
  );
}

const tooOld = (why: string): Refusal => ({
  reason: 'RequestTooOld',
  message: `not started: ${why}; to run the plan now, create an execution with a new name and spec.requestedAt set to the time at which it is asked for`,
});

/** An execution that came too late. */
export function checkDeadline(execution: DRPlanExecution, now: Date): Refusal | undefined {
  const deadline = startDeadline(execution);
  if (Number.isNaN(deadline.getTime()) || now <= deadline) return undefined;
  const seconds = execution.spec.startDeadlineSeconds ?? START_DEADLINE_SECONDS;
  return {
    reason: 'StartDeadlineExceeded',
    message: `not started: it was created at ${execution.metadata.creationTimestamp} and had to start within ${seconds}s (spec.startDeadlineSeconds), by ${deadline.toISOString()}; to run the plan now, create a new execution`,
  };
}

/**
 * An execution that a GitOps tool has made again under a name that has run before. A row without a uid was written by
 * the original controller, which kept none: its run is older than this bridge, and so another one.
 */
export function checkNameReused(
  { metadata }: DRPlanExecution,
  plan: DRPlanStatus | undefined,
): Refusal | undefined {
  const tracked = trackingKey(metadata);
  if (tracked === undefined) return undefined;
  const earlier = plan?.executionHistory?.find(
    (row) => row.name === metadata.name && row.uid !== metadata.uid,
  );
  if (earlier === undefined) return undefined;
  return {
    reason: 'NameReused',
    message: `not started: an execution named "${metadata.name}" has run before (${earlier.phase}, ${earlier.uid === undefined ? 'under the previous controller' : `uid ${earlier.uid}`}), and "${tracked}" says that a GitOps tool has applied this one again; to run the plan on purpose, use a new name`,
  };
}
