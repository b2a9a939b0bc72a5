/**
 * Brings each new whole content of a state to the server while the engine works (T8.4). The engine writes the file in
 * place: what is read may be torn or empty, and then it is read again. A content is copied before it is looked at, so that
 * what was looked at is what is stored.
 */
import { constants } from 'node:fs';
import { copyFile, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FoundState } from '../api/terraform/operation-result.js';
import type { Digest } from '../api/terraform/operation-terms.js';
import { refuseState, type StateFacts } from '../api/terraform/state.js';
import { readStateFile, type StateFile } from './state-file.js';

/** A whole content, and whether the server has it. */
interface Content {
  digest: Digest;
  facts: StateFacts;
  isStored: boolean;
}

/** What a mirror works with. */
export interface MirrorOptions {
  /** The file that the engine writes. */
  file: string;
  /** What the engine writes where it cannot write that. */
  erroredFile: string;
  /** Where the last whole content is kept. */
  kept: string;
  /** What the state was before; undefined where there was none. */
  before: { digest: Digest; facts: StateFacts } | undefined;
  /** Stores a content; throws where that does not work now. */
  store: (path: string, digest: Digest) => Promise<unknown>;
  /** Between two looks, in milliseconds. */
  lookMs: number;
  /** Told of what goes wrong, once each. */
  onProblem: (problem: string) => void;
}

/** Follows a state file. */
export interface StateMirror {
  /** The engine has ended: looks once more, at all that it may have left. @returns the last content, and where it is */
  finish(): Promise<{ state: FoundState; path: string }>;
}

/** Larger contents are stored one at a time, with a pause as long after each. */
const LARGE = 1 << 20;

/** Begins to follow a file. */
export function mirrorState(options: MirrorOptions): StateMirror {
  const { file, erroredFile, kept, before, store, lookMs, onProblem } = options;
  let last: Content | undefined;
  let seen = '';
  const over = new AbortController();
  const pause = (ms: number): Promise<unknown> =>
    sleep(ms, undefined, { signal: over.signal }).catch(() => undefined);
  let told = '';

  /** A file, with what may not take the place of what was there as torn. */
  async function accepted(path: string): Promise<StateFile> {
    const found = await readStateFile(path);
    const refusal =
      found.kind === 'whole' ? refuseState(found.facts, last?.facts ?? before?.facts) : undefined;
    return refusal === undefined ? found : { kind: 'torn', problem: refusal.message };
  }

  /** Copies a file and reads the copy. A whole content becomes the kept one, unless it is what was kept already. */
  async function take(path: string): Promise<StateFile> {
    const copy = `${kept}.copy`;
    try {
      await copyFile(path, copy, constants.COPYFILE_FICLONE);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'none' };
      throw error;
    }
    const found = await accepted(copy);
    if (found.kind !== 'whole') return found;
    if (found.digest === (last ?? before)?.digest) return found;
    await rename(copy, kept);
    last = { digest: found.digest, facts: found.facts, isStored: false };
    return found;
  }

  async function look(): Promise<void> {
    const now = await signature(file);
    if (now !== undefined && now !== seen) {
      const found = await take(file);
      // Torn: the same file is read again at the next look.
      if (found.kind === 'whole') seen = now;
    }
    if (last === undefined || last.isStored) return;
    const started = Date.now();
    const content = last;
    await store(kept, content.digest);
    content.isStored = true;
    if (content.facts.bytes > LARGE) await pause(Date.now() - started);
  }

  const follow = (async () => {
    while (!over.signal.aborted) {
      await look().catch((error: unknown) => {
        const problem = error instanceof Error ? error.message : String(error);
        if (problem !== told) onProblem(problem);
        told = problem;
      });
      await pause(lookMs);
    }
  })();

  return {
    async finish() {
      over.abort();
      await follow;
      await rm(`${kept}.copy`, { force: true });
      // Nobody writes any more: read where they are, as a disk that is full has no room for a copy.
      const found = await accepted(file);
      const errored = await accepted(erroredFile);
      const isNewer =
        (errored.kind === 'whole' ? errored.facts.serial : -1) >
        (found.kind === 'whole' ? found.facts.serial : -1);
      if (errored.kind === 'whole' && isNewer) return { state: errored, path: erroredFile };
      if (found.kind === 'whole') return { state: found, path: file };
      if (found.kind === 'none' && last === undefined && before === undefined)
        return { state: found, path: file };
      const problem = found.kind === 'none' ? 'the file is gone' : found.problem;
      return {
        state: { kind: 'torn', problem, ...(last !== undefined && { last: factsOf(last) }) },
        path: kept,
      };
    },
  };
}

type Known = Pick<Content, 'digest' | 'facts'>;
const factsOf = ({ digest, facts }: Known): Known => ({ digest, facts });

/** What changes when a file is written; undefined where there is none. */
async function signature(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
