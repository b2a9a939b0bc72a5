import { ANNOTATIONS } from '../../api/group.js';
import { stampAnswer } from './answers.js';
import type { JsonPatch, ReviewRequest, Verdict } from './review.js';

/**
 * Says on an execution who asked for it, who for its cancel, and who answered its approvals (architecture, §6), and that
 * it is part of no other unless the bridge has made it so. Whatever an object claims about that itself is replaced: on a create by the user of the request, on an update by what was there before.
 */
export function stamp(request: ReviewRequest): Verdict {
  const { object, oldObject, user } = request;
  if (object === undefined || request.kind !== 'DRPlanExecution') return { allowed: true, warnings: [] };
  const { annotations } = object.metadata;
  const before = oldObject?.metadata.annotations;
  const isCancelNew = annotations?.[ANNOTATIONS.cancel] !== before?.[ANNOTATIONS.cancel];
  const canceller = annotations?.[ANNOTATIONS.cancel] === undefined ? undefined : user;
  const answered = stampAnswer(request, object);
  if ('refused' in answered) return answered.refused;
  const wanted: Record<string, string | undefined> = {
    ...answered.stamps,
    [ANNOTATIONS.requestedBy]: request.operation === 'CREATE' ? user : before?.[ANNOTATIONS.requestedBy],
    [ANNOTATIONS.cancelRequestedBy]: isCancelNew ? canceller : before?.[ANNOTATIONS.cancelRequestedBy],
    // What the bridge alone writes, whose own requests do not come here.
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
  return { allowed: true, warnings: [], patch };
}
