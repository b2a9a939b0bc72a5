import { allowed } from '../core/review.js';
import type { Rules } from '../core/review.js';
import type { Row } from '../core/row.js';
import { PATHS } from './configuration.js';

/** Hands each request to the row of its kind; what no row reviews is let in. */
export function reviewsOf(rows: readonly Pick<Row, 'cache' | 'review'>[]): Rules {
  const byKind = new Map(rows.map(({ cache, review }) => [cache.kind, review?.()]));
  return (path, request) => {
    const review = byKind.get(request.kind);
    switch (path) {
      case PATHS.validate:
        return review?.validate(request) ?? allowed();
      case PATHS.stamp:
        return review?.stamp?.(request) ?? allowed();
      default:
        return undefined;
    }
  };
}
