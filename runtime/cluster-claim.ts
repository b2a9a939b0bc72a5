/**
 * Two installations that were restored from one backup of etcd have the same cluster id, so that they would share task
 * queues and ids of runs: one would do the other's work in the wrong cluster. So the one that answers for a cluster id says
 * a new random word every now and then, first in its own cluster and then in Temporal. Whoever reads a word there that its
 * own cluster does not know is not the one.
 */
import { randomBytes } from 'node:crypto';

/** What an installation remembers of the words that it has said, in its own cluster. */
export interface ClaimWords {
  /** The last words, newest first; empty where there are none. */
  read(): Promise<readonly string[]>;
  /** Replaces those that were read last; false when another replica was faster. */
  write(words: readonly string[]): Promise<boolean>;
}

/** The place in Temporal where the word stands that counts. */
export interface ClaimNote {
  /** Undefined where nobody has ever claimed the id. */
  read(): Promise<string | undefined>;
  /**
   * @param isFirst nothing was there
   * @returns false when another has said the first word
   */
  write(word: string, isFirst: boolean): Promise<boolean>;
}

/** Whose the cluster id is. `taken`: another's that said its word `stillMs` ago or later. */
export type ClaimState = { kind: 'held' } | { kind: 'taken'; stillMs: number };

/** One program's view of a claim. */
export interface ClusterClaim {
  /** Looks, and says a new word when it is time. Rejects when that cannot be told. */
  look(): Promise<ClaimState>;
}

/** Words that an installation remembers: one may be lost by a crash between the two writes, and another one after it. */
export const REMEMBERED_WORDS = 3;
/** A word that stands for so long is replaced; a little less than the time between two looks, so that none is left out. */
const RENEW_MS = 15_000;
/** One that nobody has replaced for so long is that of an installation that is no more. */
const TAKE_OVER_MS = 60_000;

/**
 * @param options.renews false: only looks, as a worker does
 * @param options.now monotonic clock in milliseconds: clocks of machines are never compared
 */
export function createClusterClaim(options: {
  words: ClaimWords;
  note: ClaimNote;
  renews: boolean;
  now?: () => number;
  renewMs?: number;
  takeOverMs?: number;
}): ClusterClaim {
  const { words, note, renews, now = () => performance.now() } = options;
  const { renewMs = RENEW_MS, takeOverMs = TAKE_OVER_MS } = options;
  let last: { word: string | undefined; since: number } | undefined;
  // What was known to be ours stays so, though the cluster's memory is set back under a running program.
  let ours: readonly string[] = [];

  const remember = (word: string): void => {
    ours = [...new Set([word, ...ours])].slice(0, REMEMBERED_WORDS);
  };

  /** @param standing undefined: nobody has ever claimed the id */
  async function renew(standing: string | undefined, own: readonly string[]): Promise<boolean> {
    const word = randomBytes(12).toString('base64url');
    // The one that stands is never forgotten: it stays there for as long as Temporal takes no other.
    const known = [...new Set([...ours.filter((one) => one === standing), ...own])];
    // Remembered first: a word that only Temporal knows would be a stranger's.
    if (!(await words.write([word, ...known].slice(0, REMEMBERED_WORDS)))) return true;
    const isSaid = await note.write(word, standing === undefined);
    if (isSaid) {
      last = { word, since: now() };
      remember(word);
    }
    return isSaid;
  }

  return {
    async look() {
      // In this order: what stands there was remembered before.
      const word = await note.read();
      const own = await words.read();
      if (last === undefined || last.word !== word) last = { word, since: now() };
      const stillMs = now() - last.since;
      if (word === undefined) {
        const isHeld = !renews || (await renew(undefined, own));
        return isHeld ? { kind: 'held' } : { kind: 'taken', stillMs: 0 };
      }
      if (own.includes(word) || ours.includes(word)) {
        remember(word);
        if (renews && stillMs >= renewMs) await renew(word, own);
        return { kind: 'held' };
      }
      // The next look tells whether another has taken over at the same moment.
      if (renews && stillMs >= takeOverMs) await renew(word, own);
      return { kind: 'taken', stillMs };
    },
  };
}
