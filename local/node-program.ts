import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ChildCommand } from './options.js';

/** Megabytes of heap: half of the memory that the manifest of the program grants (`deploy/programs`). */
const HEAP_MB = { 'crd-bridge': 256, worker: 512 } as const;

/**
 * How one of Drover's programs is started, as its image and manifest do it: in a container Node takes half of the memory
 * limit for the heap by itself, while on a machine with much memory it would take what it finds and collect later, so that
 * a trial said nothing about a pod.
 *
 * @param main path of the program, `dist/programs/<room>.js`
 * @param flags further flags of Node
 */
export const nodeProgram = (
  room: keyof typeof HEAP_MB,
  main: string,
  flags: readonly string[] = [],
): ChildCommand & { env: Record<string, string> } => ({
  command: process.execPath,
  args: [
    '--import',
    pathToFileURL(join(dirname(dirname(main)), 'runtime', 'source-maps.js')).href,
    '--max-semi-space-size=8',
    `--max-old-space-size=${HEAP_MB[room]}`,
    ...flags,
    main,
  ],
  // Each of the engine's threads would get an arena of its own from glibc, and keep it.
  env: { MALLOC_ARENA_MAX: '2' },
});
