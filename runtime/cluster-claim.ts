/**
 * Two installations that were restored from one backup of etcd have the same cluster id, so that they would share task
 * queues and ids of runs: one would do the other's work in the wrong cluster. So the one that answers for a cluster id says
 * a new random word every now and then, first in its own cluster and then in Temporal. Whoever reads a word there that its
 * own cluster does not know is not the one.
 */
import { randomBytes } from 'node:crypto';

/** What an installation remembers of the words that it has said, each as `place/word`, in its own cluster. */
export interface ClaimWords {
  /** The last words, newest first; empty where there are none. */
  read(): Promise<readonly string[]>;
  /** Replaces those that were read last; false when another replica was faster. */
  write(words: readonly string[]): Promise<boolean>;
}

/** The place in Temporal where the word stands that counts. */
export interface ClaimNote {
  /**
   * What stands there; no word where nobody has ever claimed the id. Behind one address may be another Temporal than before:
   * `place` names the one that has answered.
   */
  read(): Promise<{ place: string; word: string | undefined }>;
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

/** Words of a place that an installation remembers: one may be lost by a crash between the two writes, and another after it. */
export const REMEMBERED_WORDS = 3;
/** Places whose words it remembers: who is led to another Temporal and back must find its own word there. */
const REMEMBERED_PLACES = 4;
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
  let last: { said: string | undefined; since: number } | undefined;
  // What was known to be ours stays so, though the cluster's memory is set back under a running program.
  let ours: readonly string[] = [];

  const remember = (said: string): void => {
    ours = latest([said, ...ours]);
  };

  /** @param standing undefined: nobody has ever claimed the id */
  async function renew(
    place: string,
    standing: string | undefined,
    own: readonly string[],
  ): Promise<boolean> {
    const word = randomBytes(12).toString('base64url');
    const said = `${place}/${word}`;
    // The one that stands is never forgotten: it stays there for as long as Temporal takes no other.
    const known = [...ours.filter((one) => one === standing), ...own];
    // Remembered first: a word that only Temporal knows would be a stranger's.
    if (!(await words.write(latest([said, ...known])))) return true;
    const isSaid = await note.write(word, standing === undefined);
    if (isSaid) {
      last = { said, since: now() };
      remember(said);
    }
    return isSaid;
  }

  return {
    async look() {
      // In this order: what stands there was remembered before.
      const { place, word } = await note.read();
      const own = await words.read();
      const said = word === undefined ? undefined : `${place}/${word}`;
      if (last === undefined || last.said !== said) last = { said, since: now() };
      const stillMs = now() - last.since;
      if (said === undefined) {
        const isHeld = !renews || (await renew(place, undefined, own));
        return isHeld ? { kind: 'held' } : { kind: 'taken', stillMs: 0 };
      }
      if (own.includes(said) || ours.includes(said)) {
        remember(said);
        if (renews && stillMs >= renewMs) await renew(place, said, own);
        return { kind: 'held' };
      }
      // The next look tells whether another has taken over at the same moment.
      if (renews && stillMs >= takeOverMs) await renew(place, said, own);
      return { kind: 'taken', stillMs };
    },
  };
}

/** Of words, newest first, those that are remembered: a few of each of a few places. */
function latest(words: readonly string[]): string[] {
  const placeOf = (said: string): string => said.slice(0, said.indexOf('/'));
  const all = [...new Set(words)];
  const places = [...new Set(all.map(placeOf))].slice(0, REMEMBERED_PLACES);
  return places.flatMap((place) => all.filter((said) => placeOf(said) === place).slice(0, REMEMBERED_WORDS));
}
