/** Reads state files: whether they are whole, and what they are (T8.4). */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { gatherInstances, type KnownInstances } from '../api/terraform/apply-progress.js';
import type { FoundState } from '../api/terraform/operation-result.js';
import type { Digest } from '../api/terraform/operation-terms.js';
import { createStateReader, type StateFacts } from '../api/terraform/state.js';

/** A state file as it was read. */
export type StateFile =
  | { kind: 'none' }
  | { kind: 'whole'; digest: Digest; facts: StateFacts }
  | { kind: 'torn'; problem: string };

const CHUNK = 1 << 18;

/** Reads a file once, from beginning to end. Whether it changed meanwhile is the caller's to see. */
export async function readStateFile(path: string): Promise<StateFile> {
  return (await read(path, undefined)).file;
}

/** The same, with the resources that the state knows; a state that is none knows none. */
export async function readStateInstances(path: string): Promise<{ file: StateFile; known: KnownInstances }> {
  const known = gatherInstances();
  return { ...(await read(path, known)), known };
}

async function read(
  path: string,
  known: ReturnType<typeof gatherInstances> | undefined,
): Promise<{ file: StateFile }> {
  const hash = createHash('sha256');
  const reader = createStateReader(known?.add);
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK })) {
      hash.update(chunk as Buffer);
      if (!reader.push(chunk as Buffer)) break;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { file: { kind: 'none' } };
    throw error;
  }
  const reading = reader.end();
  return {
    file:
      reading.kind === 'whole'
        ? { kind: 'whole', digest: hash.digest('hex'), facts: reading.facts }
        : { kind: 'torn', problem: reading.problem },
  };
}

/** The last whole content that was found. */
export function lastWhole(state: FoundState): Extract<FoundState, { kind: 'whole' }> | undefined {
  switch (state.kind) {
    case 'whole':
      return state;
    case 'torn':
      return state.last === undefined ? undefined : { kind: 'whole', ...state.last };
    case 'none':
      return undefined;
  }
}
