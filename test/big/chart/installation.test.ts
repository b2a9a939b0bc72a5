/** An installation by Helm from beginning to end, by the commands of the manual (docs/install.md). */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { API_VERSION, LABELS } from '../../../api/core/group.js';
import type { KubeObject } from '../../../kube/object.js';
import { SEAL_SECRET } from '../../../kube/seal-secret.js';
import { parseKubeconfig } from '../../../local/kubeconfig.js';
import { EVERYTHING_VALUES } from '../../../scripts/chart/renders.js';
import { createAccount } from '../../support/accounts.js';
import { poll } from '../../support/stack.js';
import { startProgram } from './programs.js';
import { blocksOf, openSite, ringIn } from './site.js';
import type { Site } from './site.js';

const SYSTEM = 'drover-system';
const POLICIES = 'drpolicies.dr.bkbcs.tencent.com';
/** A field of DRPolicies that the release before did not have. */
const NEW_FIELD = 'clusters';

let site: Site;
/** Folder of the release before. */
let before: string;
let commands: (heading: string) => string[];
const programs: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  site = await openSite();
  await site.kube.patch(
    { apiVersion: 'v1', kind: 'Namespace', name: SYSTEM },
    { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
    { kind: 'merge' },
  );
  commands = await blocksOf('docs/install.md', 'sh');
  before = await site.otherRelease('0.0.9', async (chart) => {
    const file = join(chart, `files/crds/dr.bkbcs.tencent.com_drpolicies.yaml`);
    const definition = parse(await readFile(file, 'utf8')) as Definition;
    delete fieldsOf(definition)[NEW_FIELD];
    await writeFile(file, stringify(definition));
  });
  const [values = ''] = (await blocksOf('docs/install.md', 'yaml'))('Install');
  for (const folder of [before, site.release]) await writeFile(join(folder, 'drover-values.yaml'), values);
});
afterAll(async () => {
  for (const program of programs) await program.stop();
  await site.stop();
});

interface Definition {
  spec: { versions: { schema: { openAPIV3Schema: Node } }[] };
}
interface Node {
  properties?: Record<string, Node>;
}
const fieldsOf = (definition: Definition): Record<string, Node> =>
  definition.spec.versions[0]?.schema.openAPIV3Schema.properties?.spec?.properties ?? {};
const definitionOf = async (name: string): Promise<Definition & KubeObject> => {
  const found = await site.kube.get<Definition & KubeObject>({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    name,
  });
  if (found === undefined) throw new Error(`no definition ${name}`);
  return found;
};
const ring = () => ringIn(site, SYSTEM);
const namespace = (name: string, labels = {}) =>
  site.kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
const helm = (...args: string[]) => site.helm.run(args, { cwd: site.release });

it('what the cluster lacks is told before anything is made', async () => {
  await site.kube.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: SYSTEM, name: 'temporal-ca' },
    data: { 'authority.pem': '' },
  });
  const { code, stderr } = await helm(
    ...[
      'install',
      'drover',
      'deploy/chart',
      '-n',
      SYSTEM,
      '--values',
      join(process.cwd(), EVERYTHING_VALUES),
    ],
  );
  expect(code).not.toBe(0);
  for (const sentence of [
    'temporal.apiKey.secret is "temporal-key", but namespace "drover-system" has no such Secret: create it first',
    'temporal.tls.caSecret is "temporal-ca", but that Secret has no key "ca.crt": it has authority.pem',
    'temporal.tls.clientSecret is "temporal-client", but namespace "drover-system" has no such Secret',
    'encryption.secret is "drover-encryption", but namespace "drover-system" has no such Secret',
    'planNamespaces names "shop", which does not exist: create the namespace first, or leave it out',
    'planNamespaces names "bank", which does not exist',
    'webhook.certificates.from is "cert-manager", which this cluster does not have: install it first',
    'monitoring.podMonitor.enabled is true, but this cluster has no such kind: install the Prometheus operator first',
    'priorityClassName is "dr-critical", which this cluster does not have: create it first',
  ]) {
    expect(stderr).toContain(sentence);
  }
  const made = await site.kube.list({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' });
  expect(made.items.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/part-of'])).toEqual([]);
});

it('the release before is installed by the commands of the manual, and becomes ready', async () => {
  await Promise.all([namespace('shop', { [LABELS.admission]: 'disabled' }), namespace('bank')]);
  for (const line of commands('Install').slice(0, -1)) await site.shell(line, before);
  const deployment = await site.kube.get<KubeObject & { status: { readyReplicas: number } }>({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    namespace: SYSTEM,
    name: 'drover-worker',
  });
  expect(deployment?.status.readyReplicas).toBe(2);
  expect(fieldsOf(await definitionOf(POLICIES))).not.toHaveProperty(NEW_FIELD);
});

it('a second installation is refused, with the place of the first', async () => {
  const { code, stderr } = await helm(
    'install',
    'again',
    'deploy/chart',
    '-n',
    'other',
    '--create-namespace',
  );
  expect(code).not.toBe(0);
  expect(stderr).toContain(
    'This cluster has a Drover already, in namespace "drover-system" (Helm release "drover"): a cluster has one',
  );
  expect(await site.kube.get({ apiVersion: 'v1', kind: 'Namespace', name: 'other' })).toBeUndefined();
});

it('bridge and worker are ready with the variables and rights that the chart gives them, and run a plan', async () => {
  const { server, ca } = parseKubeconfig(await readFile(site.kubeconfig, 'utf8'));
  const options = { kube: site.kube, namespace: SYSTEM, folder: site.release, server, ca };
  programs.push(await startProgram('bridge', options), await startProgram('worker', options));
  // The last command of the section: the ring is there now.
  const [backup = ''] = commands('Install').slice(-1);
  const drover = `'${process.execPath}' '${resolve('bin/drover.js')}'`;
  await site.shell(backup.replace(/^drover/, drover), site.release);
  expect(existsSync(join(site.release, 'drover.tar'))).toBe(true);
  expect(Object.keys((await ring()) ?? {})).toHaveLength(1);
  await createAccount(site.kube, { namespace: 'shop', name: 'shop-dr' }, [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'update', 'delete'] },
  ]);
  const object = (kind: string, name: string, spec: object) =>
    site.kube.create({
      apiVersion: API_VERSION,
      kind,
      metadata: { namespace: 'shop', name },
      spec,
    });
  await object('DRWorkflow', 'switch', {
    actions: [
      {
        name: 'write',
        type: 'KubernetesResource',
        resource: {
          operation: 'Create',
          manifest: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: switched}\ndata: {site: b}\n',
        },
      },
    ],
  });
  await object('DRPlan', 'switch', {
    serviceAccountName: 'shop-dr',
    stages: [{ name: 'only', workflows: [{ workflowRef: { name: 'switch' } }] }],
  });
  await object('DRPlanExecution', 'switch-1', { planRef: 'switch', operationType: 'Execute' });
  const ended = await poll(
    () =>
      site.kube.get<KubeObject & { status?: { phase?: string } }>({
        apiVersion: API_VERSION,
        kind: 'DRPlanExecution',
        namespace: 'shop',
        name: 'switch-1',
      }),
    (found) => ['Succeeded', 'Failed'].includes(found?.status?.phase ?? ''),
  );
  expect(ended?.status).toMatchObject({ phase: 'Succeeded' });
});

it('an upgrade brings definitions up to date, keeps values, plans and the ring of keys', async () => {
  const keys = await ring();
  expect(Object.keys(keys ?? {})).toHaveLength(1);
  for (const line of commands('Upgrade')) await site.shell(line, site.release);
  expect(fieldsOf(await definitionOf(POLICIES))).toHaveProperty(NEW_FIELD);
  expect(await ring()).toEqual(keys);
  expect(await site.helm.output(['get', 'values', 'drover', '-n', SYSTEM])).toContain('shop-on-duty');
  expect((await site.kube.list({ apiVersion: API_VERSION, kind: 'DRPlan' })).items).toHaveLength(1);
  const authorities = await site.kube.get<KubeObject & { webhooks: { clientConfig: object }[] }>({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    name: 'drover',
  });
  // What the bridge has filled in is not Helm's.
  expect(authorities?.webhooks[0]?.clientConfig).toHaveProperty('caBundle');
});

it('the way back does not take definitions back, and neither way touches a key that was added since', async () => {
  const [upgrade = '', rollback = ''] = commands('Going back');
  await expect(site.shell(upgrade.replace(' --set crds.install=false', ''), before)).rejects.toThrow(
    /of Drover 0\.\d+\.\d+, newer than this chart's 0\.0\.9: .* set crds\.install to false/,
  );
  await site.kube.patch(
    { apiVersion: 'v1', kind: 'Secret', namespace: SYSTEM, name: SEAL_SECRET },
    { stringData: { '20200101T000000Z': Buffer.alloc(32).toString('base64') } },
    { kind: 'merge' },
  );
  const keys = await ring();
  expect(Object.keys(keys ?? {})).toHaveLength(2);
  await site.shell(upgrade, before);
  expect(fieldsOf(await definitionOf(POLICIES))).toHaveProperty(NEW_FIELD);
  await site.shell(rollback, site.release);
  expect(fieldsOf(await definitionOf(POLICIES))).toHaveProperty(NEW_FIELD);
  expect(await ring()).toEqual(keys);
});

it('uninstalled, it leaves what the manual names and nothing else, and nothing hangs', async () => {
  const keys = await ring();
  for (const line of commands('Uninstall')) await site.shell(line, site.release);
  const kinds =
    'deployments,replicasets,pods,services,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,' +
    'poddisruptionbudgets,networkpolicies,validatingwebhookconfigurations,mutatingwebhookconfigurations,crds';
  const definitions = ['drplanexecutions', 'drplans', 'drpolicies', 'drworkflows'].map(
    (plural) => `customresourcedefinition.apiextensions.k8s.io/${plural}.dr.bkbcs.tencent.com`,
  );
  // Pods go a moment after their Deployments.
  const left = await poll(
    async () => {
      const names = await site.shell(
        `kubectl get ${kinds} -A -l app.kubernetes.io/name=drover -o name`,
        site.release,
      );
      return names.trim().split('\n').sort();
    },
    (names) => names.length <= definitions.length,
  );
  expect(left).toEqual(definitions);
  expect(await ring()).toEqual(keys);
  // No webhook is in the way of whoever writes these kinds now.
  await site.kube
    .create(
      {
        apiVersion: API_VERSION,
        kind: 'DRPlan',
        metadata: { namespace: 'bank', name: 'x' },
        spec: { stages: [] },
      },
      { dryRun: true },
    )
    .catch((error: unknown) => expect(String(error)).not.toMatch(/webhook/));
  // And it may come back.
  const { code, stderr } = await helm(
    ...[
      'install',
      'drover',
      'deploy/chart',
      '-n',
      SYSTEM,
      '--values',
      'drover-values.yaml',
      '--dry-run=server',
    ],
  );
  expect(code, stderr).toBe(0);
});
