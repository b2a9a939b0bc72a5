/** In which order things are read, and made again: each finds what it needs, whatever comes in between. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createWriteStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, LABELS, PRIOR_STATE_TYPE } from '../../../../api/core/group.js';
import { DR_KINDS } from '../../../../api/plan/kinds.js';
import type { KubeClient, ListOptions } from '../../../../kube/client.js';
import { KubeError } from '../../../../kube/error.js';
import type { KubeObject, ObjectKey } from '../../../../kube/object.js';
import { openArchive } from './archive.js';
import type { Archive } from './archive.js';
import { createArchiveWriter } from './archive-writer.js';
import { collect, noteRuns } from './collect.js';
import type { RunsSeen } from './collect.js';
import { restoreObjects } from './restore-objects.js';
import type { Restored } from './restore-objects.js';

const uid = (digit: number, world = 'a'): string =>
  `${String(digit).repeat(8)}-000${world}-4000-8000-000000000000`;
const meta = (name: string, digit: number, more: object = {}) => ({
  name,
  namespace: 'shop',
  uid: uid(digit),
  resourceVersion: '1',
  ...more,
});
const owner = (digit: number) => ({
  apiVersion: API_VERSION,
  kind: 'DRPlanExecution',
  name: 'outer',
  uid: uid(digit),
});
const ran = (digit: number, phase: string) => ({
  phase,
  temporal: {
    workflowId: `dr/c0ffee00/shop/x/${uid(digit).slice(0, 8)}`,
    namespaceId: 'n',
    namespace: 'default',
  },
});
const dr = (kind: string, metadata: object, more: object = {}): KubeObject =>
  ({ apiVersion: API_VERSION, kind, metadata, spec: {}, ...more }) as unknown as KubeObject;

/** A cluster with a nested run, in which the inner execution comes first, as the API lists by name. */
const BEFORE: KubeObject[] = [
  dr('DRPolicy', { name: 'all', uid: uid(9) }),
  dr('DRPolicy', { name: 'going', uid: uid(0), deletionTimestamp: '2026-11-30T11:00:00Z' }),
  dr('DRWorkflow', meta('move', 1)),
  dr('DRPlan', meta('move', 2), {
    status: {
      phase: 'Executed',
      executedBy: { name: 'outer', uid: uid(4) },
      currentExecution: { name: 'live', uid: uid(5) },
      executionHistory: [{ name: 'outer', uid: uid(4), phase: 'Succeeded', operationType: 'Execute' }],
    },
  }),
  dr('DRPlanExecution', meta('inner', 3, { ownerReferences: [owner(4)] }), { status: ran(3, 'Succeeded') }),
  dr('DRPlanExecution', meta('live', 5), { status: ran(5, 'Running') }),
  dr('DRPlanExecution', meta('outer', 4), {
    status: { ...ran(4, 'Succeeded'), outputs: { planExecutionRef: { name: 'inner', uid: uid(3) } } },
  }),
  { apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata: meta('move-1', 6), data: { total: 1 } },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    type: PRIOR_STATE_TYPE,
    metadata: meta('outer-prior', 7, { labels: { [LABELS.execution]: uid(4) }, ownerReferences: [owner(4)] }),
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    type: PRIOR_STATE_TYPE,
    metadata: meta('stray-prior', 8, { ownerReferences: [owner(0)] }),
  },
];

const keyText = ({
  kind,
  namespace = '',
  name,
}: {
  kind?: string;
  namespace?: string;
  name: string;
}): string => `${kind ?? ''} ${namespace}/${name}`;

/** An API server that keeps objects and writes down what it is asked. */
function cluster(objects: KubeObject[]) {
  const stored = new Map(
    objects.map((object) => [keyText({ ...object.metadata, kind: object.kind ?? '' }), object]),
  );
  const asked: string[] = [];
  let made = 0;
  const kube = {
    list: (type: { kind: string }, { fieldSelector }: ListOptions = {}) => {
      asked.push(`list ${type.kind}${fieldSelector === undefined ? '' : ` ${fieldSelector}`}`);
      const items = [...stored.values()].filter(({ kind }) => kind === type.kind);
      return Promise.resolve({ metadata: { resourceVersion: '1' }, items, bytes: 1 });
    },
    get: (key: ObjectKey) => Promise.resolve(stored.get(keyText(key))),
    create: (object: KubeObject) => {
      const key = keyText({ ...object.metadata, kind: object.kind ?? '' });
      if (stored.has(key))
        return Promise.reject(new KubeError('there', { code: 409, reason: 'AlreadyExists' }));
      made += 1;
      const whole = {
        ...object,
        metadata: { ...object.metadata, uid: uid(made, 'b'), resourceVersion: '1' },
      };
      stored.set(key, whole);
      asked.push(`create ${key}`);
      return Promise.resolve(whole);
    },
    patch: (key: ObjectKey, operations: { op: string; path: string; value: unknown }[]) => {
      const object = stored.get(keyText(key));
      const value = operations.find(({ path }) => path === '/status')?.value;
      if (object === undefined) return Promise.reject(new Error(`no ${keyText(key)}`));
      stored.set(keyText(key), { ...object, status: value });
      asked.push(`status ${keyText(key)}`);
      return Promise.resolve(object);
    },
  } as unknown as KubeClient;
  return { kube, asked, stored };
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-order-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function take(): Promise<{ asked: string[]; seen: RunsSeen; file: string }> {
  const { kube, asked } = cluster(BEFORE);
  const file = join(folder, 'backup.tar');
  const writer = createArchiveWriter(createWriteStream(file), { time: new Date(0) });
  const seen: RunsSeen = { live: [], namespaceIds: new Set(), namespace: undefined };
  for await (const chunk of collect(kube, {
    kinds: DR_KINDS,
    namespace: 'drover-system',
    withSecrets: true,
  })) {
    noteRuns(seen, chunk);
    await writer.add(chunk.sort, chunk.objects);
  }
  await writer.finish({
    drover: '1',
    takenAt: '2026-11-30T12:00:00Z',
    cluster: { uid: uid(1), id: '11111111' },
    temporal: { address: null, namespace: null, namespaceIds: [] },
    secrets: 'included',
    installation: { namespace: 'drover-system' },
    definitions: [],
    live: seen.live,
  });
  return { asked, seen, file };
}

async function restoreInto(
  archive: Archive,
  { kube }: Pick<ReturnType<typeof cluster>, 'kube'>,
): Promise<Restored[]> {
  const kinds = [...DR_KINDS].sort((a, b) => a.scope.localeCompare(b.scope));
  return restoreObjects({ kube, archive, kinds, now: () => new Date(0), onProgress: () => undefined });
}

describe('a backup', () => {
  it('reads executions before their plans, and what executions refer to after all', async () => {
    const { asked, seen } = await take();
    expect(asked).toEqual([
      'list DRPolicy',
      'list DRPlanExecution',
      'list DRPlan',
      'list DRWorkflow',
      'list ControllerRevision',
      `list Secret type=${PRIOR_STATE_TYPE}`,
    ]);
    expect(seen).toEqual({
      live: [{ execution: 'shop/live', phase: 'Running', workflowId: 'dr/c0ffee00/shop/x/55555555' }],
      namespaceIds: new Set(['n']),
      namespace: 'default',
    });
  });
});

describe('a restore', () => {
  it('makes snapshots, policies, workflows, plans, executions, prior state, and the history of plans, in this order', async () => {
    const { file } = await take();
    const archive = await openArchive(file);
    const target = cluster([]);
    const done = await restoreInto(archive, target);
    expect(target.asked).toEqual([
      'create ControllerRevision shop/move-1',
      'create DRPolicy /all',
      'create DRWorkflow shop/move',
      'create DRPlan shop/move',
      'create DRPlanExecution shop/live',
      'create DRPlanExecution shop/outer',
      'create DRPlanExecution shop/inner',
      'status DRPlanExecution shop/inner',
      'status DRPlanExecution shop/live',
      'status DRPlanExecution shop/outer',
      'create Secret shop/outer-prior',
      'status DRPlan shop/move',
    ]);
    expect(done.find(({ sort }) => sort === 'prior-state')).toMatchObject({ made: 1, left: 1 });
    const outer = target.stored.get('DRPlanExecution shop/outer');
    const inner = target.stored.get('DRPlanExecution shop/inner');
    expect(inner?.metadata.ownerReferences).toEqual([{ ...owner(4), uid: outer?.metadata.uid }]);
    expect(outer?.metadata.annotations).toEqual({ [ANNOTATIONS.stamp]: uid(4) });
    expect(outer?.status).toMatchObject({ outputs: { planExecutionRef: { uid: inner?.metadata.uid } } });
    expect(target.stored.get('Secret shop/outer-prior')?.metadata).toMatchObject({
      labels: { [LABELS.execution]: uid(4) },
      ownerReferences: [{ uid: outer?.metadata.uid }],
    });
    const plan = target.stored.get('DRPlan shop/move');
    expect(plan?.status).toMatchObject({ phase: 'Executed', executedBy: { uid: outer?.metadata.uid } });
    expect(plan?.status).not.toHaveProperty('currentExecution');
    await archive.close();
  });

  it('that was cut anywhere is completed by the next, and changes nothing that is whole', async () => {
    const { file } = await take();
    const archive = await openArchive(file);
    const whole = cluster([]);
    await restoreInto(archive, whole);
    const steps = whole.asked.length;
    for (let cut = 0; cut <= steps; cut += 1) {
      const target = cluster([]);
      const dying = {
        ...target.kube,
        create: async (object: KubeObject) => {
          if (target.asked.length >= cut) throw new Error('cut');
          return target.kube.create(object);
        },
        patch: async (...call: Parameters<KubeClient['patch']>) => {
          if (target.asked.length >= cut) throw new Error('cut');
          return target.kube.patch(...call);
        },
      } as unknown as KubeClient;
      const first = restoreInto(archive, { kube: dying });
      if (cut < steps) await expect(first).rejects.toThrow('cut');
      else await first;
      await restoreInto(archive, target);
      expect([...target.asked].sort(), `cut after ${cut}`).toEqual([...whole.asked].sort());
    }
    await archive.close();
  });
});
