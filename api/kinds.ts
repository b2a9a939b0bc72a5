/** The kinds of all systems. Definitions, the reference and the command line know no other list. */
import type { KindDescriptor } from './core/kind-descriptor.js';
import { DR_KINDS } from './plan/kinds.js';

/** In the order of the reference. */
export const KINDS: readonly KindDescriptor[] = [...DR_KINDS];
