import { describe, expect, it } from 'vitest';
import { KubeError } from '../../../kube/error.js';
import { awaitPods, fateOf, graceOf } from './job-pods.js';
import type { PodsWait, StopCause } from './job-pods.js';
import type { PodsEnd } from '../../core/handler.js';
import type { Pod } from './job-state.js';

const pod = (name: string, phase: string, deletedSecondsAgo?: number): Pod => ({
  metadata: {
    name,
    namespace: 'shop',
    ...(deletedSecondsAgo !== undefined && {
      deletionTimestamp: new Date(Date.now() - deletedSecondsAgo * 1000).toISOString(),
    }),
  },
  spec: { nodeName: 'n1' },
  status: { phase },
});

type Look = Pod[] | KubeError;

interface Watched {
  end: PodsEnd;
  looks: number;
  said: string[];
}

/** Waits for pods of which each look finds the next of these; the last one stays. */
async function wait(
  looks: Look[],
  options: Partial<Omit<PodsWait, 'shown' | 'find' | 'say'>> = {},
): Promise<Watched> {
  const said: string[] = [];
  let taken = 0;
  const end = await awaitPods({
    shown: 'Job shop/j',
    fate: 'was deleted because its action was cancelled',
    now: Date.now,
    find: () => {
      const look = looks[Math.min(taken, looks.length - 1)] ?? [];
      taken += 1;
      return look instanceof KubeError ? Promise.reject(look) : Promise.resolve(look);
    },
    stoppedAt: Date.now(),
    graceMs: 30_000,
    waitMs: 300_000,
    say: (message) => {
      said.push(message);
    },
    signal: AbortSignal.timeout(5_000),
    ...options,
  });
  return { end, looks: taken, said };
}

const forbidden = new KubeError('pods is forbidden', { code: 403, reason: 'Forbidden' });
const away = new KubeError('away', { code: 503, reason: 'HTTP503' });

describe('waiting for the pods of a Job that was stopped [F9]', () => {
  it('ends at once where all that are there have ended', async () => {
    expect(await wait([[pod('a', 'Failed', 0), pod('b', 'Succeeded')]])).toMatchObject({
      end: { kind: 'quiet' },
      looks: 1,
    });
  });

  it('looks twice where there is none: one may come of a Job that was just made', async () => {
    expect(await wait([[], [pod('late', 'Running')], []])).toMatchObject({
      end: { kind: 'quiet' },
      looks: 3,
      said: [expect.stringContaining('pod shop/late on node n1')],
    });
    expect(await wait([[]])).toMatchObject({ end: { kind: 'quiet' }, looks: 2 });
  });

  it('goes on while a pod is Terminating, whatever its phase was, and names it', async () => {
    const { end, said } = await wait([[pod('a', 'Running', 0), pod('b', 'Failed')], []]);
    expect(end).toEqual({ kind: 'quiet' });
    expect(said).toEqual([
      'Job shop/j was deleted because its action was cancelled; waits until its pods are gone: pod shop/a on node n1',
    ]);
  });

  it('gives up so long past the end of their grace, and names pods and nodes [S3.27]', async () => {
    const { end, looks } = await wait([[pod('a', 'Running', 11)]], { waitMs: 10_000 });
    expect(looks).toBe(1);
    expect(end).toMatchObject({
      kind: 'unconfirmed',
      places: ['pod shop/a on node n1'],
      said: expect.stringMatching(/^StopUnconfirmed: .*10s after their grace.*pod shop\/a on node n1/),
    });
  });

  it('counts the grace of a pod that nobody has deleted from when its Job was', async () => {
    const { metadata, status } = pod('a', 'Running');
    const slow: Pod = { metadata, spec: { terminationGracePeriodSeconds: 600 }, status: status ?? {} };
    const signal = AbortSignal.timeout(100);
    const stoppedAt = Date.now() - 120_000;
    expect((await wait([[slow]], { stoppedAt, waitMs: 10_000, signal })).end).toMatchObject({
      kind: 'waiting',
    });
    const quick: Pod = { ...slow, spec: {} };
    expect((await wait([[quick]], { stoppedAt, waitMs: 10_000 })).end).toMatchObject({ kind: 'unconfirmed' });
  });

  it.each([
    ['ahead of', -300_000],
    ['behind', 300_000],
  ])('goes by the clock of the API server where that of the worker is five minutes %s it', async (_, ms) => {
    const now = (): number => Date.now() + ms;
    const options = { now, stoppedAt: now(), waitMs: 10_000 };
    const deleted = (secondsAgo: number): Pod[] => [pod('a', 'Running', secondsAgo - ms / 1000)];
    const signal = AbortSignal.timeout(50);
    expect((await wait([deleted(9)], { ...options, signal })).end).toMatchObject({ kind: 'waiting' });
    expect((await wait([deleted(11)], options)).end).toMatchObject({ kind: 'unconfirmed' });
    // Those that nobody has deleted, and those that may not be seen.
    const stoppedAt = now() - 41_000;
    expect((await wait([[pod('a', 'Running')]], { ...options, stoppedAt })).end).toMatchObject({
      kind: 'unconfirmed',
    });
    expect((await wait([forbidden], { ...options, stoppedAt })).end).toMatchObject({ kind: 'unconfirmed' });
  });

  it('goes on through an outage of the API', async () => {
    expect(await wait([away, [pod('a', 'Running', 0)], [pod('a', 'Failed', 0)]])).toMatchObject({
      end: { kind: 'quiet' },
      looks: 3,
      said: [expect.stringContaining('cannot be looked at: away'), expect.stringContaining('pod shop/a')],
    });
  });

  it('waits for the grace of the template where pods may not be listed [S3.27]', async () => {
    const { end, said } = await wait([forbidden], { graceMs: 600 });
    expect(said[0]).toContain('their grace is waited for');
    expect(end).toMatchObject({
      kind: 'unconfirmed',
      places: ['Job shop/j'],
      said: expect.stringContaining('pods is forbidden'),
    });
  });

  it('says how far it is when it is ended', async () => {
    const signal = AbortSignal.timeout(50);
    expect((await wait([[pod('a', 'Running', 0)]], { signal })).end).toMatchObject({
      kind: 'waiting',
      said: expect.stringContaining('pod shop/a'),
    });
  });
});

describe('what has become of a Job [F9]', () => {
  it.each<[StopCause, string, string]>([
    [
      { kind: 'cancelled' },
      'was deleted because its action was cancelled',
      'is gone, its action was cancelled',
    ],
    [
      { kind: 'timedOut', timeoutMs: 300_000 },
      'was deleted because it did not end within 5m0s',
      'is gone, it did not end within 5m0s',
    ],
    [
      { kind: 'interrupted' },
      'was deleted because its action ended without an answer',
      'is gone, its action ended without an answer',
    ],
    [
      { kind: 'stageEnded' },
      'was deleted because its stage was ended from outside',
      'is gone, its stage was ended from outside',
    ],
    [{ kind: 'undone' }, 'was deleted to undo its action', 'is gone, its action is undone'],
    [
      { kind: 'displaced' },
      'was left by an earlier run and was deleted to make room',
      'was left by an earlier run and is gone',
    ],
    [
      { kind: 'disappeared' },
      'was deleted by somebody else, or by a time limit',
      'was deleted by somebody else, or by a time limit',
    ],
    [{ kind: 'unknown' }, 'was deleted', 'is gone'],
  ])('is said for $kind', (cause, deleted, gone) => {
    expect(fateOf(cause, false)).toBe(deleted);
    expect(fateOf(cause, true)).toBe(gone);
  });

  it('stands in everything that is said while its pods are waited for', async () => {
    const fate = 'was deleted to undo its action';
    const { end, said } = await wait([away, [pod('a', 'Running', 0)], [pod('a', 'Running', 11)]], {
      fate,
      waitMs: 10_000,
    });
    const hidden = await wait([forbidden], { fate, graceMs: 600 });
    const unknown = await wait([[]], { fate, signal: AbortSignal.timeout(50) });
    const ends = [end, hidden.end, unknown.end].map((one) => ('said' in one ? one.said : ''));
    const all = new Set([...said, ...hidden.said, ...ends]);
    expect(all.size).toBe(6);
    for (const one of all) expect(one).toContain(`Job shop/j ${fate}`);
  });
});

describe('graceOf', () => {
  it('is what the pod names, else what Kubernetes grants', () => {
    expect(graceOf({ terminationGracePeriodSeconds: 0 })).toBe(0);
    expect(graceOf({})).toBe(30_000);
    expect(graceOf(undefined)).toBe(30_000);
  });
});
