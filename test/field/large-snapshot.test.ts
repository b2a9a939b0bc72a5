/** Plans whose snapshot is stored in compressed parts: what is stored once serves every later run, in whatever form. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ANNOTATIONS, API_VERSION, LABELS } from '../../api/core/group.js';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { startReplica } from '../bridge/replica.js';
import { servers } from '../support/servers.js';
import { openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('large');
});
afterAll(async () => {
  await stack.close();
});

const TYPE = { apiVersion: 'apps/v1', kind: 'ControllerRevision' };

interface Revision extends KubeObject {
  data?: object;
}

/** Text that does not get much smaller. */
function noise(characters: number): string {
  let [text, seed] = ['', 'seed'];
  while (text.length < characters) {
    seed = createHash('sha256').update(seed).digest('base64');
    text += seed;
  }
  return text.slice(0, characters);
}

const CONTENT = noise(60_000);

/** As many actions as come to the size; one of them is carried out. */
const actionsOf = (kib: number): Action[] =>
  Array.from({ length: Math.ceil(kib / 60) }, (_, index) => ({
    name: `part-${index}`,
    type: 'KubernetesResource',
    ...(index > 0 && { when: 'false' }),
    resource: {
      operation: 'Apply',
      manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: part-${index}}, data: {t: "${CONTENT}${index}"}}`,
    },
  }));

const revisions = async (plan: string): Promise<Revision[]> => {
  const selection = { namespace: stack.namespace, labelSelector: `${LABELS.plan}=${plan}` };
  const { items } = await stack.kube.list<Revision>(TYPE, selection);
  return items;
};

async function run(plan: string): Promise<DRPlanExecution> {
  const execution = await stack.ended(await stack.execute(plan, { rerun: 'Allowed' }));
  expect(execution.status, execution.status?.message).toMatchObject({ phase: 'Succeeded' });
  return execution;
}

async function revert(execution: DRPlanExecution): Promise<void> {
  const reverted = await stack.ended(await stack.revert(execution));
  expect(reverted.status, reverted.status?.message).toMatchObject({ phase: 'Succeeded' });
}

it(
  '[F1] runs, is reverted and runs again, the stored parts unchanged and without owners, and no log tells their content [S5.7] [S5.19] [S6.15]',
  { tags: ['nightly'] },
  async () => {
    await stack.simplePlan('noise', actionsOf(1020));
    const first = await run('noise');
    const stored = await revisions('noise');
    expect(stored.length).toBeGreaterThan(1);
    await revert(first);
    await run('noise');
    const after = await revisions('noise');
    expect(after.map(({ data }) => JSON.stringify(data))).toEqual(
      stored.map(({ data }) => JSON.stringify(data)),
    );
    for (const [index, { metadata }] of after.entries()) {
      const before = stored[index]?.metadata;
      expect(metadata.ownerReferences).toBeUndefined();
      expect(metadata.uid).toBe(before?.uid);
      expect(
        metadata.annotations?.[ANNOTATIONS.used]?.localeCompare(
          before?.annotations?.[ANNOTATIONS.used] ?? '',
        ),
      ).toBe(1);
    }
    const text = await readFile(join(servers.dataDir, 'logs', 'bridge.log'), 'utf8');
    expect(text).not.toContain(CONTENT.slice(0, 200));
    expect(text).not.toContain(JSON.stringify(stored[0]?.data).slice(100, 300));
  },
);

it(
  '[F1] uses what an earlier release has stored, in another order and owned by a run that is gone by then',
  { tags: ['nightly'] },
  async () => {
    await stack.simplePlan('stored', actionsOf(300));
    const gone = await run('stored');
    for (const { metadata, data = {} } of await revisions('stored')) {
      const { name, namespace = '', labels = {} } = metadata;
      await stack.kube.delete({ ...TYPE, name, namespace });
      const { uid = '' } = gone.metadata;
      const owner = { apiVersion: API_VERSION, kind: 'DRPlanExecution', name: gone.metadata.name, uid };
      await stack.create({
        ...TYPE,
        metadata: { name, namespace, labels, ownerReferences: [owner] },
        revision: 1,
        data: Object.fromEntries(Object.entries(data).reverse()),
      });
    }
    const last = await run('stored');
    for (const { metadata } of await revisions('stored')) expect(metadata.ownerReferences).toBeUndefined();
    await stack.kube.delete({
      apiVersion: API_VERSION,
      kind: 'DRPlanExecution',
      name: gone.metadata.name,
      namespace: stack.namespace,
    });
    await revert(last);
  },
);

it('[F1] is removed once no execution names it [S5.19]', { tags: ['nightly'] }, async () => {
  await stack.simplePlan('left', actionsOf(1));
  await stack.simplePlan('kept', actionsOf(1));
  const execution = await run('left');
  await run('kept');
  expect(await revisions('left')).toHaveLength(1);
  await stack.kube.delete({
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    name: execution.metadata.name,
    namespace: stack.namespace,
  });
  const replica = await startReplica({ flags: ['--snapshot-unused=1s'] });
  try {
    await poll(
      () => revisions('left'),
      (found) => found.length === 0,
    );
  } finally {
    await replica.stop();
  }
  expect(await revisions('kept')).toHaveLength(1);
});
