/** Memory of bridge and worker, and how much of it an installation gives them. */
import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { canMeasure, resetPeak, usageOf } from '../../bench/lib/processes.js';
import type { Endpoints } from '../../local/endpoints.js';

export type Program = 'bridge' | 'worker';

const PROGRAMS: readonly Program[] = ['bridge', 'worker'];
const MIB: Record<string, number> = { Ki: 1 / 1024, Mi: 1, Gi: 1024 };

/**
 * The memory limit, in MiB, that the manifests set for a program.
 *
 * @throws Error when they set none: then nothing bounds it
 */
export async function memoryLimit(program: Program): Promise<number> {
  const path = `deploy/programs/${program}.yaml`;
  const limits = parseAllDocuments(await readFile(path, 'utf8'))
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object?.kind === 'Deployment')
    .flatMap((object) => object?.spec?.template?.spec?.containers ?? [])
    .map((container) => container.resources?.limits?.memory);
  const [, amount, unit = ''] = /^(\d+)(Ki|Mi|Gi)$/.exec(limits[0] ?? '') ?? [];
  const factor = MIB[unit];
  if (limits.length !== 1 || amount === undefined || factor === undefined)
    throw new Error(`${path} sets the memory limits "${limits.join('", "')}"; expected one, such as 512Mi`);
  return Number(amount) * factor;
}

interface Manifest {
  kind?: string;
  spec?: {
    template?: { spec?: { containers?: { resources?: { limits?: { memory?: string } } }[] } };
  };
}

/** Resident memory in MiB, now and at most since the last look. Empty where that cannot be read. */
export type Memory = Partial<Record<Program, { rssMiB: number; peakMiB: number }>>;

/** Looks at both programs and begins their peaks anew. */
export async function lookAtMemory({ pids }: Endpoints): Promise<Memory> {
  if (!canMeasure) return {};
  const memory: Memory = {};
  for (const program of PROGRAMS) {
    const pid = pids[program];
    if (pid === null) throw new Error(`the ${program} does not run`);
    const usage = await usageOf(pid);
    if (usage === undefined) throw new Error(`the ${program}, process ${pid}, is gone`);
    memory[program] = { rssMiB: usage.rssMiB, peakMiB: usage.peakMiB };
    await resetPeak(pid);
  }
  return memory;
}

/** For people. */
export const memoryText = (memory: Memory): string =>
  Object.entries(memory)
    .map(
      ([program, { rssMiB, peakMiB }]) => `${program} ${rssMiB.toFixed(0)} (peak ${peakMiB.toFixed(0)}) MiB`,
    )
    .join(', ');
