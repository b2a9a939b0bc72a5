import type { FieldValidation } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import type { PriorDocument } from './prior.js';

/** What is done with an object. */
export type ObjectOperation = 'Create' | 'Apply' | 'Patch' | 'Replace' | 'Delete';

/** One object and what to do with it. */
export interface ObjectTask {
  operation: ObjectOperation;
  /** As it was rendered, with its namespace; without our marks. */
  object: KubeObject;
  /** Apply: false makes a conflict of ownership an error. */
  force?: boolean | undefined;
  /** Patch: how lists are merged; default `merge`, which replaces them. */
  patchType?: 'merge' | 'strategic' | undefined;
  /** What is done about fields that the kind does not have; default Strict: refused. */
  fieldValidation?: FieldValidation | undefined;
  /** Recorded before the effect, where there is something to restore. */
  prior?: PriorDocument | undefined;
}
