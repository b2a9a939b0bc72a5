/**
 * Two installations that were restored from one backup of etcd have the same cluster id, so that they would share task
 * queues and ids of runs: one would do the other's work in the wrong cluster. So the one that answers for a cluster id
 * writes a new random word every now and then, first in its own cluster and then in Temporal. An installation that
 * reads a word in Temporal that its own cluster does not know is not the one.
 */
import { randomBytes } from 'node:crypto';

/** The words that an installation has written, each as `place/word`, as its own cluster remembers them. */
export interface ClaimWords {
  /** The last words, newest first; empty where there are none. */
  read(): Promise<readonly string[]>;
  /** Replaces those that were read last; false when another replica was faster. */
  write(words: readonly string[]): Promise<boolean>;
}

/** The place in Temporal that holds the current word. */
export interface ClaimNote {
  /**
   * The current word; none where nobody has ever claimed the id. Another Temporal than before may be behind the same
   * address: `place` names the one that has answered.
   */
  read(): Promise<{ place: string; word: string | undefined }>;
  /**
   * @param isFirst whether there was no word before
   * @returns false when somebody else has written the first word
   */
  write(word: string, isFirst: boolean): Promise<boolean>;
}

/** Whose the cluster id is. `taken`: another installation's; its word has stood unchanged for at least `stillMs`. */
export type ClaimState = { kind: 'held' } | { kind: 'taken'; stillMs: number };

/** One program's view of a claim. */
export interface ClusterClaim {
  /** Checks whose the id is, and writes a new word when it is time. Rejects when it cannot find out. */
  look(): Promise<ClaimState>;
}

/** Words of a place that an installation remembers: one may be lost by a crash between the two writes, and another after it. */
export const REMEMBERED_WORDS = 3;
/**
 * Places whose words it remembers: an installation that is led to another Temporal and back must find its own word
 * there.
 */
const REMEMBERED_PLACES = 4;
/**
 * A word that has stood for this long is replaced; a little less than the time between two looks, so that every look
 * replaces it.
 */
const RENEW_MS = 15_000;
/** A word that nobody has replaced for this long counts as left by an installation that no longer exists. */
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
  // Words known to be ours stay ours, even if the cluster's memory is set back under a running program.
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
    // The current word is never forgotten: it stays in Temporal for as long as Temporal accepts no other.
    const known = [...ours.filter((one) => one === standing), ...own];
    // Remember it first: a word that only Temporal knows would look like a stranger's.
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
      // In this order: a word that Temporal holds was remembered before it was written there.
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
      // The next look shows whether another installation has taken over at the same moment.
      if (renews && stillMs >= takeOverMs) await renew(place, said, own);
      return { kind: 'taken', stillMs };
    },
  };
}

/** Which of these words, newest first, are remembered: a few for each of a few places. */
function latest(words: readonly string[]): string[] {
  const placeOf = (said: string): string => said.slice(0, said.indexOf('/'));
  const all = [...new Set(words)];
  const places = [...new Set(all.map(placeOf))].slice(0, REMEMBERED_PLACES);
  return places.flatMap((place) => all.filter((said) => placeOf(said) === place).slice(0, REMEMBERED_WORDS));
}
