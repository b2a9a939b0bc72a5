/** The sample manifests keep actions from Drover's own endpoints. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readOptions } from '../runtime/options/read-options.js';
import { WORKER } from '../worker/config.js';

interface Peer {
  ipBlock?: { cidr: string; except?: string[] };
  namespaceSelector?: { matchExpressions?: { key: string; operator: string; values: string[] }[] };
}
interface Manifest {
  kind: string;
  metadata: { name: string };
  spec: {
    egress?: { to?: Peer[]; ports: { port: number }[] }[];
    template?: { spec: { containers: { env: { name: string; value: string }[] }[] } };
  };
}

async function read(file: string): Promise<Manifest[]> {
  const path = fileURLToPath(new URL(`../deploy/programs/${file}`, import.meta.url));
  return parseAllDocuments(await readFile(path, 'utf8'), { merge: true }).map(
    (document) => document.toJS() as Manifest,
  );
}

test('what a network policy lets actions reach is neither Temporal nor Drover, by block or by namespace [F18]', async () => {
  const policies = await read('network-policy.yaml');
  const peers = policies
    .find(({ metadata }) => metadata.name === 'drover-actions')
    ?.spec.egress?.flatMap(({ to = [] }) => to);
  expect(peers).toHaveLength(2);
  const block = peers?.find(({ ipBlock }) => ipBlock !== undefined)?.ipBlock;
  // Cloud metadata, a pod, a Service.
  for (const address of ['169.254.169.254', '10.244.3.7', '10.96.0.10', '10.111.1.1']) {
    const isLeftOut = block?.except?.some((cidr) => ipaddr.parse(address).match(ipaddr.parseCIDR(cidr)));
    expect(isLeftOut, address).toBe(true);
  }
  const [namespaces] =
    peers?.flatMap(({ namespaceSelector }) => namespaceSelector?.matchExpressions ?? []) ?? [];
  expect(namespaces).toMatchObject({ key: 'kubernetes.io/metadata.name', operator: 'NotIn' });
  expect(namespaces?.values).toEqual(expect.arrayContaining(['temporal', 'drover-system']));
});

test("the sample worker knows Temporal's Web UI and the bridge's Service [F18]", async () => {
  const worker = (await read('worker.yaml')).find(({ kind }) => kind === 'Deployment');
  const env = worker?.spec.template?.spec.containers[0]?.env ?? [];
  const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  expect(readOptions(WORKER, [], variables)).toMatchObject({
    kind: 'values',
    values: {
      'temporal-ui': { host: 'temporal-web.temporal', port: 8080 },
      'egress-never': [{ host: 'drover-webhook.drover-system', port: 443 }],
    },
    warnings: [],
  });
});
