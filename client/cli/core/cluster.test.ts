import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliError } from './cli-error.js';
import { chooseKubeconfig, openCluster } from './cluster.js';

const kubeconfig = (context: string, namespace?: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    contexts: [{ name: context, context: { cluster: context, user: context, namespace } }],
    clusters: [{ name: context, cluster: { server: 'http://127.0.0.1:1' } }],
    users: [{ name: context, user: {} }],
  });

let folder: string;
let own: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-cluster-'));
  own = join(folder, 'own.yaml');
  await writeFile(own, kubeconfig('production', 'payments'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function bringUp(): Promise<void> {
  await writeFile(join(folder, 'kubeconfig'), kubeconfig('drover'));
  await writeFile(join(folder, 'endpoints.json'), JSON.stringify({ temporal: '127.0.0.1:7233' }));
}

const plainly = { env: {}, asKubectlPlugin: false };
const asPlugin = { env: {}, asKubectlPlugin: true };

describe('the choice of a cluster', () => {
  it('is the data dir that is up', async () => {
    await bringUp();
    const cluster = await openCluster({ dataDir: folder }, plainly);
    expect(cluster.context).toBe('drover');
    expect(cluster.namespace).toBe('default');
    expect(cluster.embedded?.endpoints.temporal).toBe('127.0.0.1:7233');
  });

  it('is a kubeconfig that was named, though a data dir is up', async () => {
    await bringUp();
    const cluster = await openCluster({ dataDir: folder, kubeconfig: own }, plainly);
    expect(cluster.context).toBe('production');
    expect(cluster.namespace).toBe('payments');
    expect(cluster.embedded).toBeUndefined();
  });

  it('lets a namespace that was named win', async () => {
    const cluster = await openCluster({ kubeconfig: own, namespace: 'other' }, plainly);
    expect(cluster.namespace).toBe('other');
  });

  it('never is a KUBECONFIG of the environment alone', async () => {
    const error = await chooseKubeconfig(
      { dataDir: join(folder, 'none') },
      { env: { KUBECONFIG: own }, asKubectlPlugin: false },
    ).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CliError);
    expect((error as CliError).message).toContain('nothing is up in');
    expect((error as CliError).hints.join('\n')).toContain(`KUBECONFIG=${own} is not used`);
  });

  it('is the current one when asked for, and as a kubectl plugin', async () => {
    expect(await chooseKubeconfig({ useCurrentCluster: true }, plainly)).toEqual({ kind: 'user' });
    expect(await chooseKubeconfig({}, asPlugin)).toEqual({ kind: 'user' });
  });

  it('is a data dir for a kubectl plugin only when it is named', async () => {
    await bringUp();
    expect((await chooseKubeconfig({ dataDir: folder }, asPlugin)).kind).toBe('embedded');
  });

  it('refuses flags that contradict each other', async () => {
    await expect(chooseKubeconfig({ kubeconfig: own, useCurrentCluster: true }, plainly)).rejects.toThrow(
      'contradict each other',
    );
  });

  it('names the contexts there are when one is unknown', async () => {
    const error = await openCluster({ kubeconfig: own, context: 'staging' }, plainly).catch(
      (caught: unknown) => caught,
    );
    expect((error as CliError).message).toContain('has no context "staging"');
    expect((error as CliError).hints).toEqual(['it has: production']);
  });

  it('says when a kubeconfig file is missing or broken', async () => {
    await expect(openCluster({ kubeconfig: join(folder, 'missing') }, plainly)).rejects.toThrow(
      'there is no kubeconfig file',
    );
    const broken = join(folder, 'broken');
    await writeFile(broken, 'contexts: [');
    await expect(openCluster({ kubeconfig: broken }, plainly)).rejects.toThrow('cannot be read');
  });
});
