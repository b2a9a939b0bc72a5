import { ANNOTATIONS } from '../../api/group.js';
import type { JsonPatch, ReviewRequest, Verdict } from './review.js';

/**
 * Says on an execution who asked for it, and who for its cancel (architecture, §6). Whatever an object claims about that
 * itself is replaced: on a create by the user of the request, on an update by what was there before.
 */
export function stamp(request: ReviewRequest): Verdict {
  const { object, oldObject, user } = request;
  if (object === undefined || request.kind !== 'DRPlanExecution') return { allowed: true, warnings: [] };
  const { annotations } = object.metadata;
  const before = oldObject?.metadata.annotations;
  const isCancelNew = annotations?.[ANNOTATIONS.cancel] !== before?.[ANNOTATIONS.cancel];
  const canceller = annotations?.[ANNOTATIONS.cancel] === undefined ? undefined : user;
  const wanted = {
    [ANNOTATIONS.requestedBy]: request.operation === 'CREATE' ? user : before?.[ANNOTATIONS.requestedBy],
    [ANNOTATIONS.cancelRequestedBy]: isCancelNew ? canceller : before?.[ANNOTATIONS.cancelRequestedBy],
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
