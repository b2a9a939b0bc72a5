import type { Problem } from '../../core/problem.js';
import { policySpecSchema } from '../schema/policy.js';
import { readSpec } from '../../core/fields.js';

/** Everything that can be said about a DRPolicy from its own text. A value of the wrong shape gives problems, never an exception. */
export function validatePolicySpec(policy: unknown): Problem[] {
  const read = readSpec(policySpecSchema, policy, 'DRPolicy');
  return read.ok ? [] : read.problems;
}
