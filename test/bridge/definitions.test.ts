/** What a bridge does where the cluster is not as it needs it: definitions of another release, another installation. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GROUP } from '../../api/core/group.js';
import { drover } from '../support/drover.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { kill, mend } from '../support/parts.js';
import { http, openStack, poll } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { startReplica } from './replica.js';
import type { Replica } from './replica.js';

let stack: Stack;
let recorder: Recorder;
let replica: Replica;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([
    openStack('definitions', { admission: 'disabled' }),
    startRecorder(),
  ]);
  await stack.simplePlan('plan', [http('a', `${recorder.url}/a`)]);
  // The one that looks every half second is alone.
  await kill('bridge');
  replica = await startReplica({ flags: ['--previous-controller-check=500ms'] });
});
afterAll(async () => {
  await replica.stop();
  await mend();
  await recorder.close();
  await stack.close();
});

const definition = (plural: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  name: `${plural}.${GROUP}`,
});
const schema = '/spec/versions/0/schema/openAPIV3Schema/properties';
const change = (plural: string, operation: object) =>
  stack.kube.patch(definition(plural), [operation], { kind: 'json' });
const read = async (plural: string, part: 'spec' | 'status', field: string): Promise<unknown> => {
  const found = await stack.kube.get<{
    spec: {
      versions: { schema: { openAPIV3Schema: { properties: Record<string, { properties: object }> } } }[];
    };
  }>(definition(plural));
  const fields = found?.spec.versions[0]?.schema.openAPIV3Schema.properties[part]?.properties ?? {};
  return (fields as Record<string, unknown>)[field];
};
const missing = (): Promise<string> => Promise.resolve(replica.bridge.notReady().join('\n'));
const isReady = () => poll(missing, (text) => text === '');

it('begins nothing while definitions are older than it and would lose what it writes, and goes on by itself [S6.23]', async () => {
  await isReady();
  const field = await read('drplanexecutions', 'status', 'undone');
  await change('drplanexecutions', { op: 'remove', path: `${schema}/status/properties/undone` });
  try {
    expect(await poll(missing, (text) => text.includes('older than this bridge'))).toMatch(
      /DRPlanExecution lacks status\.undone; apply those of this release: kubectl apply --server-side/,
    );
    const execution = await stack.execute('plan');
    const check = await drover('upgrade', '--check');
    expect(check.out).toMatch(/DRPlanExecution +older +lacks status\.undone/);
    expect(check.out).toMatch(/bring the definitions up to date before the programs/);
    expect((await stack.get(execution)).status?.temporal).toBeUndefined();
    await change('drplanexecutions', { op: 'add', path: `${schema}/status/properties/undone`, value: field });
    expect((await stack.ended(execution)).status?.phase).toBe('Succeeded');
  } finally {
    await change('drplanexecutions', { op: 'add', path: `${schema}/status/properties/undone`, value: field });
  }
});

it('works on with definitions that are newer, and with older ones that only lack what people write [S6.23]', async () => {
  await isReady();
  const field = await read('drplans', 'spec', 'description');
  await change('drplans', { op: 'remove', path: `${schema}/spec/properties/description` });
  await change('drplans', { op: 'add', path: `${schema}/spec/properties/colour`, value: { type: 'string' } });
  try {
    const seen = await poll(
      () => drover('upgrade', '--check'),
      ({ out }) => out.includes('neither older nor newer'),
    );
    expect(seen.out).toMatch(
      /DRPlan +neither older nor newer +lacks spec\.description; also has spec\.colour/,
    );
    expect((await stack.ended(await stack.execute('plan', { rerun: 'Allowed' }))).status?.phase).toBe(
      'Succeeded',
    );
    expect(await missing()).toBe('');
  } finally {
    await change('drplans', { op: 'add', path: `${schema}/spec/properties/description`, value: field });
    await change('drplans', { op: 'remove', path: `${schema}/spec/properties/colour` });
  }
});

it('begins nothing beside an installation that was there first [S6.24]', async () => {
  await isReady();
  const labels = { 'app.kubernetes.io/name': 'drover', 'app.kubernetes.io/component': 'bridge' };
  const { namespace } = stack;
  const name = 'drover-bridge';
  await stack.create({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'bridge', image: 'drover' }] } },
    },
  });
  expect(await poll(missing, (text) => text.includes('another Drover'))).toContain(
    `Deployment ${namespace}/${name}: a cluster has one`,
  );
  const execution = await stack.execute('plan', { rerun: 'Allowed' });
  await stack.kube.delete({ apiVersion: 'apps/v1', kind: 'Deployment', namespace, name });
  expect((await stack.ended(execution)).status?.phase).toBe('Succeeded');
});
