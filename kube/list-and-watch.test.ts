import { describe, expect, it } from 'vitest';
import { KubeError } from './error.js';
import { listAndWatch } from './list-and-watch.js';
import type { ListAndWatchOptions, ListOrEvent } from './list-and-watch.js';
import type { WatchEvent } from './watch.js';

interface Item {
  metadata: { name: string; resourceVersion: string };
}
interface State {
  version: string;
}

const event = (version: string): WatchEvent<Item> => ({
  type: 'MODIFIED',
  object: { metadata: { name: 'one', resourceVersion: version } },
});
const broken = new KubeError('broke off', { code: 0, reason: 'Unreachable' });
const expired = new KubeError('too old', { code: 410, reason: 'Expired' });
const forbidden = new KubeError('forbidden', { code: 403, reason: 'Forbidden' });

/** A server that answers as told, and what it was asked; it ends the wait when nothing is left to say. */
function script(
  reads: (string | KubeError)[],
  watches: (WatchEvent<Item> | KubeError)[][],
  more: Partial<ListAndWatchOptions<Item, State>> = {},
) {
  const asked: string[] = [];
  const ending = new AbortController();
  const options: ListAndWatchOptions<Item, State> = {
    read: () => {
      asked.push('read');
      const answer = reads.shift();
      if (answer === undefined) ending.abort();
      return typeof answer === 'string'
        ? Promise.resolve({ version: answer })
        : Promise.reject(answer ?? new Error('aborted'));
    },
    // oxlint-disable-next-line typescript/require-await -- as the client's
    async *watch(version) {
      asked.push(version);
      const events = watches.shift();
      if (events === undefined) ending.abort();
      for (const one of events ?? []) {
        if (one instanceof KubeError) throw one;
        yield one;
      }
    },
    backoff: { minMs: 1, maxMs: 4 },
    signal: ending.signal,
    ...more,
  };
  return { asked, options };
}

async function all(options: ListAndWatchOptions<Item, State>): Promise<string[]> {
  const told: string[] = [];
  for await (const step of listAndWatch(options)) told.push(describeStep(step));
  return told;
}

function describeStep(step: ListOrEvent<Item, State>): string {
  switch (step.kind) {
    case 'read':
      return `read ${step.state.version}`;
    case 'event':
      return `event ${step.event.object.metadata.resourceVersion}`;
    case 'failed':
      return `failed ${step.during}: ${(step.error as Error).message}`;
  }
}

describe('listAndWatch', () => {
  it('tells a state, then its changes, and reads anew after each watch', async () => {
    const { asked, options } = script(['1', '5'], [[event('2'), event('3')]]);
    expect(await all(options)).toEqual(['read 1', 'event 2', 'event 3', 'read 5']);
    expect(asked).toEqual(['read', '1', 'read', '5']);
  });

  it('goes on where the last watch ended, where it can make sure that it may', async () => {
    const resumed: string[] = [];
    const { asked, options } = script(['1'], [[event('2')], [event('3'), broken]], {
      resume: (version) => {
        resumed.push(version);
        return Promise.resolve();
      },
    });
    expect(await all(options)).toEqual(['read 1', 'event 2', 'event 3', 'failed watch: broke off']);
    expect(asked).toEqual(['read', '1', '2', '3']);
    expect(resumed).toEqual(['2', '3']);
  });

  it('reads anew where a version is too old, or may not be gone on from', async () => {
    const { asked, options } = script(['1', '7', '9'], [[expired], []], {
      resume: () => Promise.reject(expired),
    });
    expect(await all(options)).toEqual([
      'read 1',
      'failed watch: too old',
      'read 7',
      'failed watch: too old',
      'read 9',
    ]);
    expect(asked).toEqual(['read', '1', 'read', '7', 'read', '9']);
  });

  it('goes on from a version that is known, without a read', async () => {
    const { asked, options } = script([], [[event('6')]], { known: '5' });
    expect(await all(options)).toEqual(['event 6']);
    expect(asked).toEqual(['5', 'read']);
  });

  it('tells what failed, and goes on only after what passes', async () => {
    const { options } = script([broken, '1'], [[forbidden]]);
    const told: string[] = [];
    const seen = (async () => {
      for await (const step of listAndWatch(options)) told.push(describeStep(step));
    })();
    await expect(seen).rejects.toBe(forbidden);
    expect(told).toEqual(['failed read: broke off', 'read 1']);
  });

  it('goes on after whatever the caller wants it to', async () => {
    const { options } = script(['1'], [[forbidden]], { goesOn: () => true });
    expect(await all(options)).toEqual(['read 1', 'failed watch: forbidden']);
  });

  it('closes the watch when the caller has seen enough', async () => {
    let closed = false;
    const { options } = script(['1'], [], {
      async *watch() {
        try {
          await Promise.resolve();
          yield event('2');
          yield event('3');
        } finally {
          closed = true;
        }
      },
    });
    for await (const step of listAndWatch(options)) if (step.kind === 'event') break;
    expect(closed).toBe(true);
  });

  it('ends without an error when it is aborted in the middle of a wait', async () => {
    const ending = new AbortController();
    const { options } = script([broken], [], {
      backoff: { minMs: 60_000, maxMs: 60_000 },
      signal: ending.signal,
    });
    const told: string[] = [];
    for await (const step of listAndWatch(options)) {
      told.push(describeStep(step));
      setTimeout(() => ending.abort(), 5);
    }
    expect(told).toEqual(['failed read: broke off']);
  });
});
