/** The real API server takes everything that the chart renders. */
import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeClient } from '../../../kube/client.js';
import { isAlreadyExists } from '../../../kube/error.js';
import { loadKubeConfig } from '../../../kube/config.js';
import { createKubeClient } from '../../../kube/kubeconfig-client.js';
import type { KubeObject } from '../../../kube/object.js';
import { findPrograms } from '../../../local/binaries.js';
import { MAX_OPEN_MS, openHelm } from '../../../scripts/chart/helm.js';
import type { Helm } from '../../../scripts/chart/helm.js';
import { EVERYTHING_VALUES, OTHERWISE_VALUES, rendered } from '../../../scripts/chart/renders.js';
import { servers } from '../../support/servers.js';
import { poll } from '../../support/stack.js';

const progress = (): void => undefined;
const DEFINITION = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
/** Namespaces of the renders. */
const NAMESPACES = ['drover-system', 'shop', 'bank'];

/** Kinds of other projects, as far as an API server asks before it takes an object. */
const FOREIGN = [
  { group: 'cert-manager.io', kind: 'Certificate' },
  { group: 'cert-manager.io', kind: 'Issuer' },
  { group: 'monitoring.coreos.com', kind: 'PodMonitor' },
  { group: 'monitoring.coreos.com', kind: 'ServiceMonitor' },
  { group: 'monitoring.coreos.com', kind: 'PrometheusRule' },
].map(({ group, kind }) => {
  const singular = kind.toLowerCase();
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    group,
    kind,
    definition: {
      ...DEFINITION,
      metadata: { name: `${singular}s.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind, singular, plural: `${singular}s`, listKind: `${kind}List` },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    },
  };
});

let kube: KubeClient;
let helm: Helm;
/** What was made here, and is taken away in the end. */
const made: KubeObject[] = [];
const make = async (object: KubeObject): Promise<void> => {
  const isNew = await kube.create(object).then(
    () => true,
    (error: unknown) => {
      if (isAlreadyExists(error)) return false;
      throw error;
    },
  );
  if (isNew) made.push(object);
};

beforeAll(async () => {
  kube = createKubeClient(loadKubeConfig({ file: servers.kubeconfig }));
  helm = await openHelm({ home: await mkdtemp(join(tmpdir(), 'apply-')), progress });
  for (const name of NAMESPACES) await make({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  for (const { definition } of FOREIGN) await make(definition);
  for (const { group, kind } of FOREIGN) {
    // Definitions are served a moment after they were made.
    await poll(
      () => kube.resolve(`${group}/v1`, kind).catch(() => undefined),
      (found) => found !== undefined,
    );
  }
}, MAX_OPEN_MS);
afterAll(async () => {
  for (const { apiVersion = '', kind = '', metadata } of made)
    await kube.delete({ apiVersion, kind, name: metadata.name });
});

const renders: Record<string, () => Promise<string>> = {
  'with its defaults': () => rendered(helm),
  'with everything': () => rendered(helm, '--values', EVERYTHING_VALUES),
  otherwise: () => rendered(helm, '--values', OTHERWISE_VALUES),
  'as the kustomize base': async () => {
    const { kubectl } = await findPrograms({ names: ['kubectl'], progress });
    const { stdout } = await promisify(execFile)(kubectl.path, ['kustomize', 'deploy/kustomize'], {
      maxBuffer: 64 << 20,
    });
    return stdout;
  },
};

it.each(Object.keys(renders))('the API server takes the chart %s', async (name) => {
  const objects = parseAllDocuments((await renders[name]?.()) ?? '')
    .map((document) => document.toJS({ maxAliasCount: -1 }) as KubeObject | null)
    .filter((object) => object !== null);
  expect(objects.length).toBeGreaterThan(20);
  const refused: string[] = [];
  for (const object of objects) {
    const { apiVersion = '', kind = '', metadata } = object;
    // That of the bridge beside these tests is reached in another way: both ways at once are refused.
    if (kind.endsWith('WebhookConfiguration')) metadata.name = `${metadata.name}-of-the-chart`;
    await kube
      .patch({ apiVersion, kind, name: metadata.name, namespace: metadata.namespace }, object, {
        kind: 'apply',
        force: true,
        fieldManager: 'test',
        dryRun: true,
        fieldValidation: 'Strict',
      })
      .catch((error: unknown) => refused.push(`${kind} ${metadata.name}: ${String(error)}`));
  }
  expect(refused).toEqual([]);
});
