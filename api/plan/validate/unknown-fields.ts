import type { Problem } from '../../core/problem.js';
import { unknownFieldsIn } from '../../core/unknown-fields.js';
import { drKind } from '../kinds.js';
import type { DrKind } from '../kind-names.js';
import { rollbackSchema } from '../schema/actions/action.js';

/**
 * Fields of a spec that its kind does not have, as {@link unknownFieldsIn} finds them. Custom rollbacks, which are stored
 * as they are, are walked too.
 *
 * @param spec a checked spec, or any value
 */
export const unknownFields = (kind: DrKind, spec: unknown): Problem[] =>
  unknownFieldsIn(drKind(kind).spec, spec, 'spec', (field) =>
    field === 'rollback' ? rollbackSchema : undefined,
  );
