import { describe, expect, it } from 'vitest';
import type { KubeClient } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import type { WatchEvent } from '../../../kube/watch.js';
import type { Job } from './job-state.js';
import { waitForJob } from './job-wait.js';

const job = (resourceVersion: string, condition?: string, uid = 'u'): Job => ({
  metadata: { name: 'j', namespace: 'n', uid, resourceVersion },
  ...(condition !== undefined && { status: { conditions: [{ type: condition, status: 'True' }] } }),
});
const unreachable = new KubeError('away', { code: 0, reason: 'Unreachable' });
const expired = new KubeError('too old', { code: 410, reason: 'Expired' });

type Step = Job | KubeError | undefined;

/** An API that gives these answers in turn: outages cannot be had from a real one at a chosen moment. */
function api(gets: Step[], watches: (WatchEvent<Job> | KubeError)[][]): { kube: KubeClient; from: string[] } {
  const from: string[] = [];
  const kube = {
    get: () => {
      const next = gets.shift();
      return next instanceof KubeError ? Promise.reject(next) : Promise.resolve(next);
    },
    // oxlint-disable-next-line typescript/require-await -- as the client's
    async *watch(_type: unknown, options: { resourceVersion: string }) {
      from.push(options.resourceVersion);
      for (const event of watches.shift() ?? []) {
        if (event instanceof KubeError) throw event;
        yield event;
      }
    },
  } as unknown as KubeClient;
  return { kube, from };
}

const wait = (kube: KubeClient, signal = AbortSignal.timeout(10_000)): ReturnType<typeof waitForJob> =>
  waitForJob(kube, job('1'), signal);

describe('waiting for a Job', () => {
  it('goes on through a broken watch, an expired version and an API that is away', async () => {
    const { kube, from } = api(
      [unreachable, job('5'), job('7'), job('9')],
      [[unreachable], [expired], [], [{ type: 'MODIFIED', object: job('10', 'Complete') }]],
    );
    expect(await wait(kube)).toMatchObject({ kind: 'ended', end: { kind: 'complete' } });
    expect(from).toEqual(['1', '5', '7', '9']);
  });

  it('knows how a Job ended that its TTL has removed', async () => {
    const { kube } = api([], [[{ type: 'DELETED', object: job('2', 'Failed') }]]);
    expect(await wait(kube)).toMatchObject({ kind: 'ended', end: { kind: 'failed' } });
  });

  it('does not take the conditions before the end for the end', async () => {
    const { kube } = api(
      [],
      [
        [
          { type: 'MODIFIED', object: job('2', 'SuccessCriteriaMet') },
          { type: 'DELETED', object: job('3', 'FailureTarget') },
        ],
      ],
    );
    expect(await wait(kube)).toEqual({ kind: 'gone' });
  });

  it('does not take another Job of the same name for it', async () => {
    const { kube } = api([job('5', 'Complete', 'other')], [[]]);
    expect(await wait(kube)).toEqual({ kind: 'gone' });
  });

  it('passes on a right that is missing', async () => {
    const { kube } = api([], [[new KubeError('forbidden', { code: 403, reason: 'Forbidden' })]]);
    await expect(wait(kube)).rejects.toMatchObject({ reason: 'Forbidden' });
  });

  it('ends when it is aborted during an outage', async () => {
    const { kube } = api(Array<Step>(50).fill(unreachable), [[unreachable]]);
    expect(await wait(kube, AbortSignal.timeout(100))).toEqual({ kind: 'aborted' });
  });
});
