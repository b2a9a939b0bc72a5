/** Whom plans act as, and the secret that their actions send: neither may get further than it should. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { API_VERSION } from '../../api/core/group.js';
import type { KubeClient } from '../../kube/client.js';
import { createAccount } from '../support/accounts.js';
import { historyTexts } from '../support/histories.js';
import { eventually, insist, insistOnCreating } from './insist.js';
import type { Report } from './oracle.js';
import type { Plant } from './plant.js';

/** The account of those plans that do not act as the controller. It has rights in its own namespace only. */
export const ACCOUNT = 'mover';
/** The Secret that every HTTP action sends a value of. */
export const SECRET = { name: 'credentials', key: 'token' };
/** Where the account may do nothing. */
export const FOREIGN_NAMESPACE = 'default';

const CANARY = 'canary-5e1f6b0a9c3d';
const FORMS = [CANARY, Buffer.from(CANARY).toString('base64').replace(/=+$/, '').slice(0, -1)];

/** Makes account and secret in the namespace of the plans. */
export async function createTenant(kube: KubeClient, namespace: string): Promise<void> {
  const every = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
  await insistOnCreating(() =>
    createAccount(kube, { namespace, name: ACCOUNT }, [
      { apiGroups: [''], resources: ['configmaps'], verbs: every },
      { apiGroups: ['batch'], resources: ['jobs'], verbs: every },
      { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: [SECRET.name], verbs: ['get'] },
    ]),
  );
  await insistOnCreating(() =>
    kube.create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: SECRET.name, namespace },
      stringData: { [SECRET.key]: CANARY },
    }),
  );
}

/** The secret stands in no execution and in no history of its run. */
export async function checkSecrecy(
  plant: Plant,
  { name, object, workflowId }: { name: string; object: unknown; workflowId: string },
  report: Report,
): Promise<void> {
  look(`execution ${name}`, JSON.stringify(object), report);
  // Temporal is killed every now and then.
  const texts = await eventually(
    `the history of ${workflowId}`,
    () => historyTexts(plant.temporal, workflowId).catch(() => undefined),
    300_000,
  );
  look(`the history of ${workflowId}`, texts, report);
}

/** The secret stands in nothing else that anybody can read: definitions, snapshots, Events, logs. */
export async function checkSecrecyOfAll(plant: Plant, report: Report): Promise<void> {
  for (const [apiVersion, kind] of [
    [API_VERSION, 'DRPlan'],
    [API_VERSION, 'DRPlanExecution'],
    ['apps/v1', 'ControllerRevision'],
    ['events.k8s.io/v1', 'Event'],
    ['v1', 'ConfigMap'],
    ['batch/v1', 'Job'],
  ] as const) {
    const { items } = await insist(() => plant.kube.list({ apiVersion, kind }));
    for (const item of items) look(`${kind} ${item.metadata.name}`, JSON.stringify(item), report);
  }
  const logs = join(plant.root, 'logs');
  for (const file of await readdir(logs)) look(file, await readFile(join(logs, file), 'utf8'), report);
}

function look(where: string, text: string, report: Report): void {
  const at = Math.max(...FORMS.map((form) => text.indexOf(form)));
  if (at < 0) return;
  const before = text.slice(Math.max(0, at - 100), at).replaceAll(/\s+/g, ' ');
  report(`${where} shows a secret, after: ${before}`);
}
