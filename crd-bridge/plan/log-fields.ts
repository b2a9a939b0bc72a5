/** How lines of the log name what they are about: worker and bridge use the same fields, so that one search finds both. */
import type { DRPlan, ObjectReference } from '../../api/plan/types.js';
import { keyOf } from '../core/object-ref.js';
import type { CachedExecution } from './types.js';

/** The fields of an execution, or of its run. */
export type RunFields = Readonly<{ execution: string; plan: string }>;

/** Of an execution. */
export const fieldsOf = (execution: Pick<CachedExecution, 'metadata' | 'spec'>): RunFields => ({
  execution: keyOf(execution),
  plan: execution.spec.planRef,
});

/** Of a run. */
export const fieldsOfRun = (run: { namespace: string; name: string; plan: { name: string } }): RunFields => ({
  execution: `${run.namespace}/${run.name}`,
  plan: run.plan.name,
});

/** Of an execution that its plan names. */
export const fieldsOfHolder = (
  { metadata }: Pick<DRPlan, 'metadata'>,
  { namespace = metadata.namespace, name }: Pick<ObjectReference, 'name' | 'namespace'>,
): RunFields => ({ execution: `${namespace ?? ''}/${name}`, plan: metadata.name });
