/** The kinds of all systems: definitions and the reference are made from these. */
import type { KindDescriptor } from './core/kind-descriptor.js';
import { DR_KINDS } from './plan/kinds.js';

/** In the order of the reference. */
export const KINDS: readonly KindDescriptor[] = [
  // One line a system.
  ...DR_KINDS,
];
