import { ANNOTATIONS } from '../../api/core/group.js';
import { NO_TRACING } from '../../runtime/tracing/tracing.js';
import type { TraceContext, Tracing } from '../../runtime/tracing/tracing.js';
import { allowed } from '../core/review.js';
import type { JsonPatch, ReviewRequest, ReviewResponse, Rules } from '../core/review.js';
import type { Row } from '../core/row.js';
import { PATHS } from './configuration.js';

/** Hands each request to the row of its kind; what no row reviews is let in. */
export function reviewsOf(
  rows: readonly Pick<Row, 'cache' | 'review'>[],
  tracing: Pick<Tracing, 'current'> = NO_TRACING,
): Rules {
  const byKind = new Map(rows.map(({ cache, review }) => [cache.kind, review?.()]));
  return (path, request) => {
    const review = byKind.get(request.kind);
    switch (path) {
      case PATHS.validate:
        return review?.validate(request) ?? allowed();
      case PATHS.stamp: {
        const response = review?.stamp?.(request) ?? allowed();
        const place = tracing.current();
        return place === undefined
          ? response
          : Promise.resolve(response).then((given) => withTrace(given, request, place));
      }
      default:
        return undefined;
    }
  };
}

/** What is created takes its place in the trace along, so that what becomes of it goes on from there. */
function withTrace(
  response: ReviewResponse,
  { operation, object }: ReviewRequest,
  place: TraceContext,
): ReviewResponse {
  if (operation !== 'CREATE' || object === undefined || !response.allowed) return response;
  const { patch = [] } = response;
  const hasAnnotations =
    object.metadata.annotations !== undefined || patch.some(({ path }) => path === ANNOTATIONS_PATH);
  const added: JsonPatch = [
    ...(hasAnnotations ? [] : [{ op: 'add' as const, path: ANNOTATIONS_PATH, value: {} }]),
    {
      op: 'add',
      path: `${ANNOTATIONS_PATH}/${ANNOTATIONS.traceparent.replaceAll('/', '~1')}`,
      value: place.traceparent,
    },
  ];
  return { ...response, patch: [...patch, ...added] };
}

const ANNOTATIONS_PATH = '/metadata/annotations';
