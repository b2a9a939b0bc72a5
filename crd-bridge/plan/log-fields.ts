import { keyOf } from '../core/object-ref.js';
import type { CachedExecution } from './types.js';

/** How a line of the log names an execution: worker and bridge use the same fields, so that one search finds both. */
export const fieldsOf = (
  execution: Pick<CachedExecution, 'metadata' | 'spec'>,
): { execution: string; plan: string } => ({
  execution: keyOf(execution),
  plan: execution.spec.planRef,
});
