import { describe, expect, it } from 'vitest';
import type { KubeClient } from '../../kube/client.js';
import { createEgressPolicy } from './egress.js';
import type { EgressOptions } from './egress-rules.js';
import { createTargets } from './target.js';

const kubeconfig = (server: string): string =>
  JSON.stringify({
    'current-context': 'b',
    clusters: [{ name: 'site-b', cluster: { server } }],
    contexts: [{ name: 'b', context: { cluster: 'site-b', user: 'dr' } }],
    users: [{ name: 'dr', user: { token: 'secret-token' } }],
  });

function home(secret: { server?: string; resourceVersion?: string } = {}): KubeClient {
  return {
    get: (key: { name: string; namespace: string }) =>
      Promise.resolve(
        key.namespace === 'plans' && key.name === 'site-b'
          ? {
              metadata: { name: key.name, uid: 'u', resourceVersion: secret.resourceVersion ?? '1' },
              data: {
                kubeconfig: Buffer.from(kubeconfig(secret.server ?? 'https://b.example.org')).toString(
                  'base64',
                ),
              },
            }
          : undefined,
      ),
  } as unknown as KubeClient;
}

const scope = {
  params: { site: 'site-b' },
  planName: 'p',
  executionName: 'e',
  operation: 'Execute',
  outputs: {},
};

const open = (kube: KubeClient, egress: EgressOptions = {}, ref = { name: '{{ .params.site }}' }) =>
  createTargets(createEgressPolicy(egress)).open({ kubeconfigSecretRef: ref }, scope, {
    kube,
    namespace: 'plans',
    signal: new AbortController().signal,
  });

describe('targets', () => {
  it('keep a client as long as the Secret stays the same', async () => {
    const targets = createTargets(createEgressPolicy());
    const get = (kube: KubeClient) =>
      targets.open({ kubeconfigSecretRef: { name: 'site-b' } }, scope, {
        kube,
        namespace: 'plans',
        signal: new AbortController().signal,
      });
    const first = await get(home());
    expect(await get(home())).toBe(first);
    expect(await get(home({ resourceVersion: '2' }))).not.toBe(first);
    expect(first).toMatchObject({ identity: 'the user of the kubeconfig in Secret plans/site-b' });
  });

  it('name what is missing', async () => {
    expect(await open(home(), {}, { name: 'site-c' })).toMatchObject({
      reason: 'SecretNotFound',
      message: 'Secret plans/site-c, which target.kubeconfigSecretRef names, does not exist; create it',
    });
    const ref = { name: 'site-b', key: 'other' };
    expect(await open(home(), {}, ref)).toMatchObject({
      reason: 'SecretNotFound',
      message:
        'Secret plans/site-b has no key "other", which target.kubeconfigSecretRef names; it has kubeconfig',
    });
  });

  it('obey the egress policy, by address and by what a name resolves to', async () => {
    expect(await open(home({ server: 'https://169.254.169.254' }))).toMatchObject({
      kind: 'failed',
      reason: 'EgressRefused',
      message: expect.stringMatching(
        /^cluster "site-b" from Secret plans\/site-b at https:\/\/169\.254\.169\.254 is not allowed: /,
      ),
    });
    const byName = await open(home({ server: 'https://localhost:1' }));
    if ('kind' in byName) throw new Error(byName.message);
    await expect(byName.kube.resolve('v1', 'ConfigMap')).rejects.toMatchObject({
      reason: 'EgressRefused',
      message: expect.stringContaining(
        'cluster "site-b" from Secret plans/site-b at https://localhost:1 is not allowed',
      ),
    });
  });

  it('are asked within the trace of the action', async () => {
    const asked: string[] = [];
    const targets = createTargets(createEgressPolicy({ allowLoopback: true }), ({ method, server }, send) => {
      asked.push(`${method} ${server}`);
      return send({}, () => undefined);
    });
    const opened = await targets.open({ kubeconfigSecretRef: { name: 'site-b' } }, scope, {
      kube: home({ server: 'https://127.0.0.1:1' }),
      namespace: 'plans',
      signal: new AbortController().signal,
    });
    if ('kind' in opened) throw new Error(opened.message);
    await expect(opened.kube.resolve('v1', 'ConfigMap')).rejects.toMatchObject({ reason: 'Unreachable' });
    expect(new Set(asked)).toEqual(new Set(['GET https://127.0.0.1:1']));
  });

  it('name cluster and address when nothing answers', async () => {
    const opened = await open(home({ server: 'https://127.0.0.1:1' }), { allowLoopback: true });
    if ('kind' in opened) throw new Error(opened.message);
    await expect(opened.kube.resolve('v1', 'ConfigMap')).rejects.toMatchObject({
      code: 0,
      reason: 'Unreachable',
      message: expect.stringMatching(
        /^Kubernetes API of cluster "site-b" from Secret plans\/site-b \(https:\/\/127\.0\.0\.1:1\) cannot be reached: .*ECONNREFUSED/,
      ),
    });
  });
});
