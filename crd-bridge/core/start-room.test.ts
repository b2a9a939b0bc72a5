import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createStartRoom } from './start-room.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const setup = (places: number, quiet = 0) => {
  const woken: string[] = [];
  const room = createStartRoom({
    places,
    holdMs: 60_000,
    quietMs: () => quiet,
    wake: (key) => woken.push(key),
  });
  return { room, woken };
};

describe('a start room', () => {
  it('gives places in the order of asking, each once [S5.16]', () => {
    const { room, woken } = setup(2);
    expect(['a', 'b', 'c', 'd', 'c'].map((uid) => room.enter(uid, `ns/${uid}`))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(room.waiting).toBe(2);
    room.leave('b');
    room.leave('b');
    expect(woken).toEqual(['ns/c']);
    expect(room.enter('c', 'ns/c')).toBe(true);
    // The place is taken already: nobody who comes meanwhile gets it.
    expect(room.enter('e', 'ns/e')).toBe(false);
    room.leave('a');
    room.leave('c');
    expect(woken).toEqual(['ns/c', 'ns/d', 'ns/e']);
    expect(room.waiting).toBe(0);
  });

  it('forgets who does not wait any more', () => {
    const { room, woken } = setup(1);
    for (const uid of ['a', 'b', 'c', 'd']) room.enter(uid, uid);
    room.giveUp('b');
    room.leave('c');
    room.leave('a');
    expect(woken).toEqual(['d']);
  });

  /** Takes every place that is free. */
  function filler(room: ReturnType<typeof createStartRoom>): () => string[] {
    let count = 0;
    return () => {
      const uids: string[] = [];
      for (;;) {
        const uid = `u-${(count += 1)}`;
        if (!room.enter(uid, uid)) {
          room.giveUp(uid);
          return uids;
        }
        uids.push(uid);
      }
    };
  }

  it('has more places the more promptly runs are taken up, and fewer when they are late', () => {
    const { room } = setup(160);
    const fill = filler(room);
    const takeUp = (uids: readonly string[]): void => {
      for (const uid of uids) room.takenUp(uid);
    };
    const first = fill();
    expect(first).toHaveLength(40);
    vi.advanceTimersByTime(1000);
    takeUp(first);
    const second = fill();
    expect(second).toHaveLength(80);
    takeUp(second);
    const third = fill();
    expect(third).toHaveLength(160);
    takeUp(third);
    const most = fill();
    expect(most).toHaveLength(160);
    vi.advanceTimersByTime(3000);
    takeUp(most);
    const late = fill();
    expect(late).toHaveLength(160);
    vi.advanceTimersByTime(10_000);
    takeUp(late.slice(0, 10));
    expect(fill()).toHaveLength(0);
    takeUp(late);
    expect(fill()).toHaveLength(40);
  });

  it('calls no run late for what it is quiet about', () => {
    const { room } = setup(100, 5000);
    const fill = filler(room);
    const first = fill();
    vi.advanceTimersByTime(5500);
    for (const uid of first) room.takenUp(uid);
    expect(fill()).toHaveLength(80);
  });

  it('takes a place back from a run that nobody takes up', () => {
    const { room, woken } = setup(1);
    room.enter('a', 'a');
    room.enter('b', 'b');
    vi.advanceTimersByTime(59_999);
    expect(woken).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(woken).toEqual(['b']);
  });
});
