/** Megabytes of heap: half of the memory that the manifest of the program grants (`deploy/programs`). */
const HEAP_MB = { 'crd-bridge': 256, worker: 512 } as const;

/**
 * Flags of Node for one of Drover's programs. In a container Node takes half of its memory limit for the heap by itself;
 * on a machine with much memory it would take what it finds and collect later, so that a trial said nothing about a pod.
 */
export const nodeFlags = (room: keyof typeof HEAP_MB): string[] => [
  '--enable-source-maps',
  `--max-old-space-size=${HEAP_MB[room]}`,
];
