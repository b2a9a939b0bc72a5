/** A plan moves an application between two member clusters and back, seen in the clusters themselves. */
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { servers } from '../support/servers.js';
import { actionAt, condition, openStack, unique } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { APPS, eventually, openRig } from './rig.js';
import type { Feed, Rig, Site } from './rig.js';

let rig: Rig;
let stack: Stack;

beforeAll(async () => {
  [rig, stack] = await Promise.all([openRig(), openStack('failover')]);
});
afterAll(async () => {
  const { items } = await rig.parent.list(
    { apiVersion: APPS, kind: 'Subscription' },
    { namespace: stack.namespace },
  );
  for (const { metadata } of items) await rig.parent.delete(subscriptionKey(metadata.name));
  await rig.close();
  await stack.close();
});

const subscriptionKey = (name: string) => ({
  apiVersion: APPS,
  kind: 'Subscription',
  namespace: stack.namespace,
  name,
});

/** An application that runs in sites before anything fails over. */
async function application(...sites: Site[]): Promise<Feed> {
  const name = unique('shop');
  const feed = rig.feed(name);
  await rig.manifest(feed, { data: { mode: 'standby' } });
  await rig.parent.create({
    apiVersion: APPS,
    kind: 'Subscription',
    metadata: { name, namespace: stack.namespace },
    spec: { feeds: [feed], subscribers: rig.to(...sites) },
  });
  for (const site of sites) await eventually(() => modeIn(site, feed), 'standby');
  return feed;
}

const modeIn = async (site: Site, feed: Feed): Promise<string | undefined> =>
  (await rig.seen(site, feed))?.data?.mode;

const patch = (feed: Feed, sites: Site[]): Action => ({
  name: 'move',
  type: 'Subscription',
  waitReady: true,
  subscription: {
    operation: 'Patch',
    name: feed.name,
    namespace: stack.namespace,
    subscribers: rig.to(...sites),
  },
});
const move = (feed: Feed, from: Site[], to: Site[]): Action => ({
  ...patch(feed, to),
  rollback: { ...patch(feed, from), name: 'move-back' },
});
const promote = (feed: Feed, site: Site): Action => ({
  name: 'promote',
  type: 'Localization',
  localization: {
    name: `${feed.name}-active`,
    namespace: rig.namespaceOf(site),
    feed,
    overrides: [
      { name: 'mode', type: 'JSONPatch', value: '[{op: replace, path: /data/mode, value: active}]' },
    ],
  },
});

async function run(name: string, actions: Action[]): Promise<DRPlanExecution> {
  await stack.simplePlan(name, actions);
  return stack.ended(await stack.execute(name));
}

describe('a failover', () => {
  it('moves an application and changes it, and a revert brings everything back [S3.38]', async () => {
    const feed = await application('a');
    const done = await run('shop', [move(feed, ['a'], ['b']), promote(feed, 'b')]);
    expect(done.status).toMatchObject({ phase: 'Succeeded' });
    expect(actionAt(done, 0, 0, 0)?.message).toContain(`seen ready in ${rig.binding('b')} itself`);
    await eventually(() => modeIn('b', feed), 'active');
    expect(await modeIn('a', feed)).toBeUndefined();

    const reverted = await stack.ended(await stack.revert(done));
    expect(reverted.status).toMatchObject({ phase: 'Succeeded' });
    expect(await modeIn('a', feed)).toBe('standby');
    await eventually(() => modeIn('b', feed), undefined);
    expect(
      await rig.parent.get({
        apiVersion: APPS,
        kind: 'Localization',
        namespace: rig.namespaceOf('b'),
        name: `${feed.name}-active`,
      }),
    ).toBeUndefined();
  });

  it('away from a cluster out of reach says StopUnconfirmed: a condition, an Event, and the workload runs on [S3.41]', async () => {
    const feed = await application('a', 'b');
    await rig.quirk('b', 'notReady', 'yes');
    const done = await run('lost', [move(feed, ['a', 'b'], ['a'])]);
    const stop = condition(done, 'StopUnconfirmed');
    expect(done.status?.phase).toBe('Succeeded');
    expect(stop).toMatchObject({ status: 'True', reason: 'ClusterDidNotConfirm' });
    expect(stop?.message).toContain(`"${rig.binding('b')}" (removed by action "move" in stage "stage")`);
    expect(actionAt(done, 0, 0, 0)?.outputs?.stopUnconfirmed).toEqual([rig.binding('b')]);
    await eventually(async () => {
      const events = await rig.parent.list<KubeObject & { reason: string; note: string }>(
        { apiVersion: 'events.k8s.io/v1', kind: 'Event' },
        { namespace: stack.namespace },
      );
      return events.items.filter(({ reason }) => reason === 'StopUnconfirmed').map(({ note }) => note);
    }, [stop?.message]);

    await rig.quirk('b', 'notReady', null);
    expect(await modeIn('b', feed)).toBe('standby');
    await rig.child('b').kube.delete(feed);
  });
});

describe('drover check clusternet', () => {
  const check = (...args: string[]): Promise<{ code: number | null; out: string; err: string }> => {
    const child = spawn(
      process.execPath,
      ['bin/drover.js', 'check', 'clusternet', ...args, '--data-dir', servers.dataDir],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1', KUBECONFIG: '/nowhere' } },
    );
    const chunks = { out: '', err: '' };
    child.stdout.on('data', (chunk: Buffer) => (chunks.out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (chunks.err += chunk.toString()));
    return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...chunks })));
  };
  const leftovers = async (): Promise<string[]> => {
    const kinds = ['Subscription', 'Localization', 'Manifest', 'Base', 'Description'];
    const lists = await Promise.all(kinds.map((kind) => rig.parent.list({ apiVersion: APPS, kind })));
    return lists.flatMap(({ items }) =>
      items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('drover-check-')),
    );
  };

  it(
    'finds that everything holds, looks into the clusters, and leaves nothing behind',
    { tags: ['nightly'] },
    async () => {
      const clusters = `${rig.binding('a')},${rig.binding('b')}`;
      const { code, out, err } = await check(
        '--clusters',
        clusters,
        '--yes',
        '--timeout',
        '30',
        '-o',
        'json',
      );
      expect(code, err).toBe(0);
      const results = JSON.parse(out) as { check: string; result: string; detail: string }[];
      expect(results.filter(({ result }) => result !== 'held')).toEqual([]);
      expect(results).toHaveLength(10);
      expect(await leftovers()).toEqual([]);
    },
  );

  it('says what did not hold, and removes what it made', { tags: ['nightly'] }, async () => {
    await rig.quirk('a', 'fail', 'no space left');
    const { code, out } = await check('--clusters', rig.binding('a'), '--yes', '--timeout', '3');
    await rig.quirk('a', 'fail', null);
    expect(code).toBe(1);
    expect(out).toMatch(/failed .* a Subscription brings its feed .* not within 3 s: .* says "Failure"/);
    expect(out).toMatch(/skipped .* needs what has just failed/);
    expect(await leftovers()).toEqual([]);
  });

  it(
    'does not begin without a yes, nor with a cluster that is not there',
    { tags: ['nightly'] },
    async () => {
      expect(await check('--clusters', rig.binding('a'))).toMatchObject({ code: 4 });
      const unknown = await check('--clusters', 'nowhere', '--yes');
      expect(unknown).toMatchObject({
        code: 3,
        err: expect.stringContaining('there is no ManagedCluster nowhere'),
      });
    },
  );
});
