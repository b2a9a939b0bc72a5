import { expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, LABELS } from '../../../api/core/group.js';
import type { KubeClient, ListOptions } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import type { KubeMeta } from '../../../kube/object.js';
import { createSnapshotSweep } from './snapshot-sweep.js';
import type { DrDeps } from '../types.js';

const HOUR = 3_600_000;
const NOW = Date.parse('2026-01-01T12:00:00Z');
const ago = (ms: number): string => new Date(NOW - ms).toISOString();

/** A revision whose digest is its name. */
const revision = (name: string, more: Partial<KubeMeta> = {}): KubeMeta => ({
  name,
  namespace: 'ns',
  uid: `uid-${name}`,
  resourceVersion: '1',
  labels: { [LABELS.snapshot]: name, [LABELS.plan]: `plan-${name}` },
  creationTimestamp: ago(9 * HOUR),
  annotations: { [ANNOTATIONS.used]: ago(2 * HOUR) },
  ...more,
});

function rig(options: {
  revisions: KubeMeta[];
  named?: string[];
  busy?: string[];
  closed?: boolean;
  /** Between the list of the revisions and their deletion. */
  meanwhile?: (revisions: KubeMeta[]) => void;
}) {
  const { revisions, named = [], busy = [] } = options;
  const removed: string[] = [];
  const kube = {
    list: ({ kind }: { kind: string }, { namespace }: ListOptions) => {
      if (kind === 'ControllerRevision') {
        const items = structuredClone(revisions).map((metadata) => ({ metadata }));
        options.meanwhile?.(revisions);
        return Promise.resolve({ metadata: { resourceVersion: '9' }, items });
      }
      expect(namespace).toBe('ns');
      const items = named.map((digest) => ({ status: { snapshotRef: { name: digest, digest } } }));
      return Promise.resolve({ metadata: { resourceVersion: '9' }, items: [...items, { status: {} }, {}] });
    },
    delete: ({ name }: { name: string }, { resourceVersion }: { resourceVersion: string }) => {
      const found = revisions.find((one) => one.name === name);
      if (found?.resourceVersion !== resourceVersion)
        return Promise.reject(new KubeError('changed', { code: 409, reason: 'Conflict' }));
      removed.push(name);
      return Promise.resolve(true);
    },
  } as unknown as KubeClient;
  const plans = busy.map((name) => ({
    metadata: { name: `plan-${name}`, namespace: 'ns' },
    status: { currentExecution: { name: 'x' } },
  }));
  const deps = {
    kube,
    caches: { plans: { list: () => plans } },
    log: { info: () => undefined },
  } as unknown as Pick<DrDeps, 'kube' | 'caches' | 'log'>;
  const sweep = createSnapshotSweep(deps, {
    unusedMs: HOUR,
    intervalMs: HOUR,
    paceMs: 0,
    mayAct: () => options.closed !== true,
    now: () => NOW,
  });
  return { removed, sweep: () => sweep.sweep(new AbortController().signal) };
}

const owners = [{ apiVersion: API_VERSION, kind: 'DRPlanExecution', name: 'x', uid: 'x' }];

it('[F1] removes what was last used an hour ago and nobody names, and nothing else [S5.19]', async () => {
  const { sweep, removed } = rig({
    revisions: [
      revision('old'),
      revision('old-1', { labels: { [LABELS.snapshot]: 'old', [LABELS.plan]: 'plan-old' } }),
      revision('named'),
      revision('busy'),
      revision('recent', { annotations: { [ANNOTATIONS.used]: ago(HOUR / 2) } }),
      revision('owned', { annotations: {}, ownerReferences: owners }),
      revision('unmarked', { annotations: {} }),
      revision('fresh', { annotations: {}, creationTimestamp: ago(1000) }),
      revision('strange', { annotations: { [ANNOTATIONS.used]: 'yesterday' } }),
    ],
    named: ['named'],
    busy: ['busy'],
  });
  await sweep();
  expect(removed).toEqual(['old', 'old-1', 'unmarked']);
});

it('[F1] leaves one that a run has begun to use since it was judged', async () => {
  const { sweep, removed } = rig({
    revisions: [revision('a'), revision('b')],
    meanwhile: ([first]) => {
      first!.resourceVersion = '2';
    },
  });
  await sweep();
  expect(removed).toEqual(['b']);
});

it('[F1] removes nothing while nothing may be begun', async () => {
  const { sweep, removed } = rig({ revisions: [revision('a')], closed: true });
  await sweep();
  expect(removed).toEqual([]);
});
