import { accountUser } from '../../../api/plan/authority.js';
import { ANNOTATIONS, COPY_STAMP, FINALIZERS, LABELS } from '../../../api/core/group.js';
import { labelValue } from '../../../api/plan/naming.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import { writeAdmissionStamp } from '../start/admission-stamp.js';
import type { Requester } from '../start/admission-stamp.js';
import { checkRestored, UID } from '../start/checks.js';
import type { DrDeps } from '../types.js';
import { actingOf } from './acting.js';
import { stampAnswer } from './answers.js';
import { subjectOf } from './authority.js';
import type { Authority } from './authority.js';
import type { Lookups } from './lookups.js';
import { writeRequester } from './requester.js';
import { refusedBy } from '../../core/review.js';
import type { JsonPatch, ReviewedObject, ReviewRequest, ReviewResponse } from '../../core/review.js';

/** What the stamps need. */
export interface StampDeps {
  dr: Pick<DrDeps, 'kube' | 'snapshots' | 'settings' | 'sealer'>;
  authority: Authority;
  lookups: Pick<Lookups, 'plan'>;
}

/**
 * Records on an execution who asked for it, as whom it may act, who asked for its cancel, and who answered its
 * approvals (S5.1), and that it is part of no other unless the bridge has made it so. Whatever an object
 * claims about these itself is replaced: on a create by the user of the request, on an update by what was recorded
 * before. Cancels and answers of people who may not give them are refused.
 */
export async function stamp(deps: StampDeps, request: ReviewRequest): Promise<ReviewResponse> {
  const { object, oldObject, user } = request;
  if (object === undefined || request.kind !== 'DRPlanExecution') return { allowed: true, warnings: [] };
  const { annotations } = object.metadata;
  const before = oldObject?.metadata.annotations;
  const isCreate = request.operation === 'CREATE';
  const isCancelNew = annotations?.[ANNOTATIONS.cancel] !== before?.[ANNOTATIONS.cancel];
  const canceller = annotations?.[ANNOTATIONS.cancel] === undefined ? undefined : user;
  // A backup is restored with all its marks by who may write status anyway: it is a record, and never starts (S5.60).
  if (isCreate && isRecord(object) && (await deps.authority.mayWriteStatus(subjectOf(request), request)))
    return { allowed: true, warnings: [] };
  const answered = stampAnswer(request, object);
  if ('refused' in answered) return answered.refused;

  const warnings: string[] = [];
  const needed = [
    // Whoever asked for a run may also stop it.
    ...(!isCreate && isCancelNew && canceller !== undefined && before?.[ANNOTATIONS.requestedBy] !== user
      ? (['cancel'] as const)
      : []),
    ...(answered.isNew ? (['approve'] as const) : []),
  ];
  for (const verb of needed) {
    const refusal = await deps.authority.onPlan(subjectOf(request), [verb], planOf(request, object));
    if (refusal === undefined) continue;
    if (deps.authority.mode === 'Enforce') return refusedBy(refusal);
    warnings.push(`would be refused with --authorization=Enforce: ${refusal.message}`);
  }

  const requester: Requester = {
    [ANNOTATIONS.requestedBy]: isCreate ? user : before?.[ANNOTATIONS.requestedBy],
    [ANNOTATIONS.requester]: !isCreate
      ? before?.[ANNOTATIONS.requester]
      : deps.authority.mode === 'Off'
        ? undefined
        : writeRequester(subjectOf(request)),
    [ANNOTATIONS.authorizedAs]: isCreate
      ? await authorizedAs(deps, request, object)
      : before?.[ANNOTATIONS.authorizedAs],
  };
  const admitted = isCreate ? admission(deps, request, object, requester) : undefined;
  const wanted: Record<string, string | undefined> = {
    ...answered.stamps,
    ...requester,
    [ANNOTATIONS.admission]: isCreate ? admitted?.stamp : before?.[ANNOTATIONS.admission],
    // A bridge writes this when the execution ends, or at its start where there is no admission.
    [ANNOTATIONS.stamp]: isCreate ? admitted?.copy : before?.[ANNOTATIONS.stamp],
    [ANNOTATIONS.cancelRequestedBy]: isCancelNew ? canceller : before?.[ANNOTATIONS.cancelRequestedBy],
    // Only the bridge writes these, and its own requests do not come here.
    [ANNOTATIONS.nestedIn]: before?.[ANNOTATIONS.nestedIn],
    [ANNOTATIONS.key]: before?.[ANNOTATIONS.key],
  };
  const patch: JsonPatch = [];
  for (const [key, value] of Object.entries(wanted)) {
    const present = annotations?.[key];
    if (present === value) continue;
    const path = `/metadata/annotations/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    patch.push(value === undefined ? { op: 'remove', path } : { op: 'add', path, value });
  }
  if (annotations === undefined && patch.length > 0)
    patch.unshift({ op: 'add', path: '/metadata/annotations', value: {} });
  if (admitted?.stamp !== undefined) patch.push(...ownership(object));
  return { allowed: true, warnings, patch };
}

/**
 * The stamp of a new object, or the mark of a copy: what arrives with our finalizer or stamps, or with the label of a
 * restore tool, was an execution before, and is let in as a record that never starts. The API server must therefore ask
 * only once. The review checks nobody's right to run the plan for a record like this, so it must not start without its
 * label either.
 */
function admission(
  { dr }: StampDeps,
  { namespace }: ReviewRequest,
  object: ReviewedObject,
  requester: Requester,
): { stamp?: string; copy?: string } {
  const { annotations, finalizers } = object.metadata;
  const isMarked =
    annotations?.[ANNOTATIONS.stamp] !== undefined ||
    annotations?.[ANNOTATIONS.admission] !== undefined ||
    finalizers?.includes(FINALIZERS.execution) === true ||
    checkRestored(object as unknown as DRPlanExecution) !== undefined;
  if (isMarked) {
    const origin = isRecord(object) ? annotations?.[ANNOTATIONS.stamp] : undefined;
    return { copy: origin ?? COPY_STAMP };
  }
  return { stamp: writeAdmissionStamp(dr.sealer, object, { namespace, requester, now: new Date() }) };
}

/** Whether an object that arrives says of which execution it is a copy; its own uid it cannot know yet. */
const isRecord = ({ metadata }: ReviewedObject): boolean =>
  UID.test(metadata.annotations?.[ANNOTATIONS.stamp] ?? '');

/** Finalizer and label of an execution that is let in: its start has nothing to write on it. */
function ownership(object: ReviewedObject): JsonPatch {
  const { labels, finalizers } = object.metadata;
  const { planRef } = (object.spec ?? {}) as Partial<DRPlanExecution['spec']>;
  const label = labelValue(typeof planRef === 'string' ? planRef : '');
  const patch: JsonPatch = [];
  if (labels === undefined) patch.push({ op: 'add', path: '/metadata/labels', value: {} });
  if (labels?.[LABELS.plan] !== label)
    patch.push({ op: 'add', path: `/metadata/labels/${LABELS.plan.replaceAll('/', '~1')}`, value: label });
  if (finalizers === undefined)
    patch.push({ op: 'add', path: '/metadata/finalizers', value: [FINALIZERS.execution] });
  else if (!finalizers.includes(FINALIZERS.execution))
    patch.push({ op: 'add', path: '/metadata/finalizers/-', value: FINALIZERS.execution });
  return patch;
}

/** The old object shows the plan of an execution: its spec cannot change. */
function planOf(
  { oldObject, namespace }: ReviewRequest,
  object: ReviewedObject,
): { namespace: string; name: string } {
  const spec = (oldObject ?? object).spec as Partial<DRPlanExecution['spec']> | undefined;
  return { namespace, name: typeof spec?.planRef === 'string' ? spec.planRef : '' };
}

/** Whom the run will act as, by the present plan; the review refuses where the requester may not use it. */
async function authorizedAs(
  { dr, authority, lookups }: StampDeps,
  request: ReviewRequest,
  object: ReviewedObject,
): Promise<string | undefined> {
  if (authority.mode === 'Off') return undefined;
  const { namespace, name } = planOf(request, object);
  const plan = name === '' ? undefined : await lookups.plan(namespace, name);
  if (plan === undefined) return undefined;
  const acting = await actingOf(dr, object as unknown as DRPlanExecution, plan);
  return acting && accountUser(namespace, acting.account);
}
