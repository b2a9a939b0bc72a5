import { expect, it } from 'vitest';
import { createClusterClaim, REMEMBERED_WORDS } from './cluster-claim.js';
import type { ClaimNote, ClaimState, ClaimWords, ClusterClaim } from './cluster-claim.js';

/** Temporal, clusters and a clock. */
function createWorld() {
  const world = { now: 0, place: 'a', note: undefined as string | undefined };
  const note: ClaimNote = {
    read: () => Promise.resolve({ place: world.place, word: world.note }),
    write: (word, isFirst) => {
      if (isFirst && world.note !== undefined) return Promise.resolve(false);
      world.note = word;
      return Promise.resolve(true);
    },
  };
  return { world, note };
}

interface Memory {
  words: readonly string[];
  version: number;
}

/** A program's access to what its cluster remembers. */
function wordsOf(memory: Memory): ClaimWords {
  let seen = -1;
  return {
    read: () => {
      seen = memory.version;
      return Promise.resolve(memory.words);
    },
    write: (words) => {
      if (seen !== memory.version) return Promise.resolve(false);
      memory.words = words;
      seen = memory.version += 1;
      return Promise.resolve(true);
    },
  };
}

const { world, note } = createWorld();
const program = (memory: Memory, renews = true, over: Partial<ClaimNote> = {}): ClusterClaim =>
  createClusterClaim({ words: wordsOf(memory), note: { ...note, ...over }, renews, now: () => world.now });
const fresh = (): Memory => {
  world.note = undefined;
  return { words: [], version: 0 };
};
const copyOf = (memory: Memory): Memory => ({ ...memory });
const kinds = (states: readonly ClaimState[]): string[] => states.map(({ kind }) => kind);
/** All look, one after the other, again and again. */
async function pass(ms: number, ...programs: readonly ClusterClaim[]): Promise<string[]> {
  let last: ClaimState[] = [];
  for (const end = world.now + ms; world.now < end; world.now += 5000) {
    last = [];
    for (const one of programs) last.push(await one.look());
  }
  return kinds(last);
}

it('[F25] is held by all replicas of one installation, one of which says new words [S6.18]', async () => {
  const memory = fresh();
  const [one, two] = [program(memory), program(memory)];
  expect(await pass(10_000, one, two)).toEqual(['held', 'held']);
  const first = world.note;
  expect(await pass(300_000, one, two)).toEqual(['held', 'held']);
  expect(world.note).not.toBe(first);
  expect(memory.words).toContain(`a/${world.note}`);
  // One that starts while the others are away takes the word for its own.
  world.now += 3_600_000;
  expect(await program(memory).look()).toEqual({ kind: 'held' });
});

it('[F25] is taken for an installation that was restored from the same etcd, while the first one works [S6.18]', async () => {
  const memory = fresh();
  const first = program(memory);
  await pass(60_000, first);
  const copy = copyOf(memory);
  // The backup is some words old.
  await pass(120_000, first);
  const second = program(copy);
  expect(await pass(600_000, first, second)).toEqual(['held', 'taken']);
  expect(await pass(20_000, first, program(copy, false))).toEqual(['held', 'taken']);
});

it('[F25] passes to the one that is left, a minute after the last word, and never back', async () => {
  const memory = fresh();
  const first = program(memory);
  await pass(60_000, first);
  const copy = copyOf(memory);
  await pass(120_000, first);
  const second = program(copy);
  const third = program(copyOf(copy));
  expect(await pass(60_000, second, third)).toEqual(['taken', 'taken']);
  // Both see that the word has not changed: one of them is left.
  const after = await pass(60_000, second, third);
  expect(after.toSorted()).toEqual(['held', 'taken']);
  expect(await pass(300_000, first, second, third)).toEqual(['taken', ...after]);
});

it('[F25] stays held where the memory of the cluster is set back under a program that runs', async () => {
  const memory = fresh();
  const first = program(memory);
  await pass(60_000, first);
  const backup = copyOf(memory);
  await pass(200_000, first);
  Object.assign(memory, backup);
  expect(await pass(120_000, first)).toEqual(['held']);
  expect(memory.words).toContain(`a/${world.note}`);
});

it('[F25] survives a crash between the two writes', async () => {
  const memory = fresh();
  await pass(60_000, program(memory));
  for (let crashes = 0; crashes < REMEMBERED_WORDS - 1; crashes += 1) {
    const dies = program(memory, true, { write: () => Promise.reject(new Error('killed')) });
    await dies.look();
    world.now += 30_000;
    await expect(dies.look()).rejects.toThrow('killed');
    expect(await program(memory).look()).toEqual({ kind: 'held' });
  }
});

it('[F25] stays held, by workers that start too, while Temporal takes no new word', async () => {
  const memory = fresh();
  await pass(60_000, program(memory));
  const first = program(memory, true, { write: () => Promise.reject(new Error('not allowed')) });
  for (let looks = 0; looks < 3 * REMEMBERED_WORDS; looks += 1, world.now += 20_000)
    await first.look().catch(() => undefined);
  expect(memory.words).toHaveLength(REMEMBERED_WORDS);
  expect(await program(memory, false).look()).toEqual({ kind: 'held' });
});

it('[F25] is not held by the slower one of two that claim an id for the first time', async () => {
  const memory = fresh();
  const slow = program({ words: [], version: 0 }, true, {
    read: () => Promise.resolve({ place: world.place, word: undefined }),
  });
  expect(await program(memory).look()).toEqual({ kind: 'held' });
  expect((await slow.look()).kind).toBe('taken');
});

it('[F25] is still held after a while with another Temporal behind the same address [S6.18]', async () => {
  const memory = fresh();
  const first = program(memory);
  expect(await pass(60_000, first)).toEqual(['held']);
  const standing = world.note;
  for (const place of ['b', 'c']) {
    Object.assign(world, { place, note: undefined });
    expect(await pass(300_000, first)).toEqual(['held']);
  }
  Object.assign(world, { place: 'a', note: standing });
  // A program that starts anew knows it too, and takes nobody's word of one place for its own in another.
  expect(await program(memory).look()).toEqual({ kind: 'held' });
  Object.assign(world, { place: 'd', note: standing });
  expect(kinds([await program(memory).look()])).toEqual(['taken']);
  Object.assign(world, { place: 'a' });
  expect(memory.words.length).toBeLessThanOrEqual(4 * REMEMBERED_WORDS);
});
