/** What an execution says about its run. */
import type { ApprovalAnswer } from '../../../api/plan/actions/approval-answers.js';
import { cancelAsked, CANCEL_VALUES } from '../../../api/core/cancel.js';
import { ANNOTATIONS, FINALIZERS, LABELS } from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import { sealedAnswer } from '../../../workflows/plan/sealed.js';
import type { RunState, RunView } from '../../core/kind.js';
import { holds } from '../lock/plan-state.js';
import { identityOf } from '../start/identity.js';
import { openRevertsOf } from '../start/revert-target.js';
import { answersOf } from '../status/answers.js';
import type { CachedExecution, DrDeps } from '../types.js';

/** What a view is made of. */
export type ViewDeps = Pick<
  DrDeps,
  'caches' | 'cluster' | 'events' | 'isAdmitted' | 'runs' | 'sealer' | 'settings'
>;

/** Values of the cancel annotation that mean something. */
const MEANT_VALUES: ReadonlySet<string> = new Set([...Object.values(CANCEL_VALUES), 'false', '']);

/** Id of the run of an execution. */
export const workflowIdOf = (cluster: string, execution: DRPlanExecution): string =>
  runWorkflowId({ cluster, ...identityOf(execution) });

/** How far an execution is. */
export const stateOf = ({ metadata, status }: CachedExecution): RunState => ({
  ended: isTerminalExecution(status?.phase),
  deleting: metadata.deletionTimestamp !== undefined,
  inherited: metadata.finalizers?.includes(FINALIZERS.legacyExecution) ?? false,
});

/** All that the bridge wants to know of an execution. Records warnings about annotations that mean nothing. */
export function viewOf(deps: ViewDeps, execution: CachedExecution): RunView {
  const { metadata, status } = execution;
  const annotations = metadata.annotations ?? {};
  const asked = cancelAsked(annotations);
  const canceller = cancellerOf(deps, execution);
  warnOfCancel(deps, execution);
  // The id contains the uid, so it identifies a run of this very object even where somebody has removed the stamp.
  const ours = status?.temporal?.workflowId === workflowIdOf(deps.cluster, execution);
  const plan = deps.caches.plans.get(metadata.namespace, execution.spec.planRef);
  return {
    ...stateOf(execution),
    ...(ours && status?.temporal !== undefined && { run: status.temporal }),
    ...(asked !== undefined && {
      cancel: {
        via: 'Annotation' as const,
        ...(canceller !== undefined && { requestedBy: canceller }),
      },
    }),
    ...(asked === 'terminate' && {
      terminate: { reason: `asked for by ${canceller ?? 'somebody'} on the execution` },
    }),
    ...(asked === 'temporalLost' && { isTemporalLost: true as const }),
    goesOn:
      holds(plan?.status?.currentExecution, identityOf(execution)) ||
      annotations[ANNOTATIONS.nestedIn] !== undefined,
    spoken:
      status?.sequence !== undefined ||
      (status?.stageStatuses?.some(({ sequence }) => sequence !== undefined) ?? false),
    deliveries: answers(deps, execution).map((answer) => ({
      id: answer.id,
      about: { answer: answer.at, user: answer.user },
      send: (runId) => deps.runs.answer(runId, answer),
    })),
    cancelKnown: status?.cancelRequest !== undefined,
    held: metadata.finalizers?.includes(FINALIZERS.execution) ?? false,
    ...neededBy(deps, execution),
    forceRelease: annotations[ANNOTATIONS.forceDelete] === 'true',
  };
}

/** Who has set the cancel annotation. Without admission, it may be anybody's claim: then nobody. */
export const cancellerOf = (
  deps: Pick<ViewDeps, 'settings' | 'isAdmitted'>,
  { metadata }: CachedExecution,
): string | undefined =>
  deps.settings.answers.verified && deps.isAdmitted(metadata.namespace ?? '')
    ? metadata.annotations?.[ANNOTATIONS.cancelRequestedBy]
    : undefined;

/** Answers to approvals. Records a warning about an answer that does not count because nobody vouches for it. */
function answers(deps: ViewDeps, execution: CachedExecution): ApprovalAnswer[] {
  const trust = deps.settings.answers;
  const isAdmitted = deps.isAdmitted(execution.metadata.namespace ?? '');
  const found = answersOf(execution, { ...trust, verified: trust.verified && isAdmitted });
  if (found.unverified && !isTerminalExecution(execution.status?.phase)) {
    deps.events.record(execution, {
      type: 'Warning',
      reason: 'ApprovalNotVerified',
      action: 'Approve',
      message: `an answer to an approval does not count, as nobody knows who gave it: ${
        trust.verified
          ? `namespace "${execution.metadata.namespace ?? ''}" is labelled ${LABELS.admission}=disabled; remove that label and answer again`
          : 'run the bridge with its admission webhook and answer again'
      }, or run the bridge with --unverified-approvals`,
    });
  }
  const { uid = '' } = execution.metadata;
  return found.answers.map((answer) => ({
    ...answer,
    seal: deps.sealer.seal('answer', sealedAnswer(uid, answer)),
  }));
}

/** A person who writes `yes` believes that the run is being cancelled. */
function warnOfCancel(
  { events }: Pick<ViewDeps, 'events'>,
  { metadata, status, ...execution }: CachedExecution,
): void {
  const value = metadata.annotations?.[ANNOTATIONS.cancel];
  if (value === undefined || MEANT_VALUES.has(value) || isTerminalExecution(status?.phase)) return;
  events.record(
    { ...execution, metadata },
    {
      type: 'Warning',
      reason: 'CancelIgnored',
      action: 'Cancel',
      message: `annotation ${ANNOTATIONS.cancel} is ${JSON.stringify(value.slice(0, 40))}, which means nothing: nothing was cancelled; set it to "true" to cancel`,
      key: value.slice(0, 40),
    },
  );
}

/** A revert restores from what belongs to its target, and that would be deleted with the target. */
function neededBy({ caches }: Pick<ViewDeps, 'caches'>, execution: CachedExecution): Pick<RunView, 'needed'> {
  const { metadata, status } = execution;
  if (metadata.deletionTimestamp === undefined || !isTerminalExecution(status?.phase)) return {};
  const [revert] = openRevertsOf(execution, caches.executions.list());
  if (revert === undefined) return {};
  const { name } = revert.metadata;
  return {
    needed: {
      reason: 'BeingReverted',
      message: `execution "${name}" reverts it and needs what it has kept; it goes when that one has ended`,
    },
  };
}
