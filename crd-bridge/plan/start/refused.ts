import { describeProblems, errorsOf } from '../../../api/core/problem.js';
import type { Problem } from '../../../api/core/problem.js';
import type { Refusal } from '../../../api/core/refusal.js';

/** Thrown while a start is prepared, to end that from any depth; caught by `prepare`. */
export class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** Ends the preparation of a start. */
export const refuse = (reason: string, message: string): never => {
  throw new Refused({ reason, message });
};

/** Ends it if a check found something. */
export function throwIf(refusal: Refusal | undefined): void {
  if (refusal !== undefined) throw new Refused(refusal);
}

/** Problems of an object as one refusal; the first error gives the reason. */
export function refusalOf(problems: readonly Problem[]): Refusal {
  const errors = errorsOf(problems);
  return { reason: errors[0]?.reason ?? 'Invalid', message: describeProblems(errors) };
}
