import { readSpec } from './fields.js';
import type { KindDescriptor } from './kind-descriptor.js';
import type { Problem } from './problem.js';

/** What the schema of its kind says against the spec of an object of any shape; reasons `InvalidField` and `TooComplex`. */
export function specProblems({ kind, spec }: KindDescriptor, object: unknown): Problem[] {
  const read = readSpec(spec, object, kind);
  return read.ok ? [] : read.problems;
}
