/** What the chart makes of values: it is well formed, is kept as it was looked at, and says what is wrong with wrong ones. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { MAX_OPEN_MS, openHelm } from '../../../scripts/chart/helm.js';
import type { Helm } from '../../../scripts/chart/helm.js';
import { CHART, EVERYTHING_VALUES, OTHERWISE_VALUES, keptRenders } from '../../../scripts/chart/renders.js';

let home: string;
let helm: Helm;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'values-'));
  helm = await openHelm({ home, progress: () => undefined });
}, MAX_OPEN_MS);

/** What Helm says when it is to render these values. */
async function refusal(values: string, ...more: string[]): Promise<string> {
  const file = join(home, 'values.yaml');
  await writeFile(file, values);
  const { code, stderr } = await helm.run([
    'template',
    'drover',
    CHART,
    '-f',
    file,
    '-n',
    'drover-system',
    ...more,
  ]);
  expect(code).not.toBe(0);
  return stderr;
}

describe('the chart', () => {
  it('passes Helm’s own check, with the defaults, with everything and otherwise', async () => {
    for (const more of [[], ['--values', EVERYTHING_VALUES], ['--values', OTHERWISE_VALUES]]) {
      const { code, stdout, stderr } = await helm.run(['lint', '--strict', CHART, ...more]);
      expect(code, `${stdout}${stderr}`).toBe(0);
    }
  });

  it('renders what is kept: look at the difference, then `npm run chart`', async () => {
    for (const [path, text] of await keptRenders(helm)) expect(await readFile(path, 'utf8'), path).toBe(text);
  });

  it('wants a Kubernetes that Drover runs on', async () => {
    expect(await refusal('{}', '--kube-version', '1.30.4')).toMatch(
      /requires kubeVersion: >=1\.31\.0-0.*1\.30\.4/,
    );
  });
});

describe('a value', () => {
  it('that does not exist, or has the wrong type, is named with what is allowed', async () => {
    const said = await refusal(`
workers: { replicas: 3 }
crds: { enabled: true }
rbac: null
bridge: { replicas: three, settings: { plan-weight: 1m, start-window: 0 }, podDisruptionBudget: { maxUnavailable: true } }
worker: { resources: { limit: { memory: 1Gi } }, extraEnv: [{ value: x }] }
webhook: { certificates: { from: acme } }
image: { tag: 1.0 }
planNamespaces: [{ name: shop }]
`);
    for (const sentence of [
      "at '': additional properties 'workers' not allowed",
      "at '': missing property 'rbac'",
      "at '/crds': additional properties 'enabled' not allowed",
      "at '/bridge/replicas': got string, want integer",
      "at '/bridge/settings': additional properties 'plan-weight' not allowed",
      "at '/bridge/settings/start-window': minimum: got 0, want 1",
      "at '/bridge/podDisruptionBudget/maxUnavailable': got boolean, want integer or string",
      "at '/worker/resources': additional properties 'limit' not allowed",
      "at '/worker/extraEnv/0': missing property 'name'",
      "at '/webhook/certificates/from': value must be one of 'bridge', 'cert-manager', 'secret'",
      "at '/image/tag': got number, want string",
      "at '/planNamespaces/0': missing property 'serviceAccounts'",
    ]) {
      expect(said).toContain(sentence);
    }
  });

  it('that does not look as it has to is told with what to write, all of them at once', async () => {
    const said = await refusal(`
image: { repository: '', tag: 'v1 beta', digest: 'sha256:abc' }
imagePullSecrets: [{ name: Registry }]
acceptUnsealedUntil: tomorrow
tracing: { endpoint: 'collector:4318', headersSecret: Not_A_Name }
temporal:
  address: https://temporal.example.com
  namespace: x
  ui: https://temporal.example.com/ui
  tls: { enabled: true, caSecret: Not_A_Name }
egress: { allow: ['https://example.com/path'], never: [temporal.example.com] }
webhook: { certificates: { life: 90d } }
bridge:
  codec: { origins: ['https://temporal.example.com/ui'] }
  settings: { plan-wait: a while, previous-controller-namespace: Old }
  podDisruptionBudget: { maxUnavailable: half }
worker:
  settings: { build-id: '-' }
  extraEnv: [{ name: 1A }]
monitoring: { podMonitor: { interval: often } }
networkPolicy: { clusterRanges: [10.0.0.1] }
planNamespaces: [{ name: Shop, serviceAccounts: [shop_dr], operators: [{ kind: Group, name: '' }] }]
`);
    expect(said).toContain('Drover cannot be installed like this:');
    for (const sentence of [
      '- image.repository is "": write a repository, such as registry.example.com/drover',
      '- image.tag is "v1 beta": write a tag: at most 128 letters',
      '- image.digest is "sha256:abc": write sha256: and 64 hexadecimal digits, or leave it empty',
      '- imagePullSecrets[0].name is "Registry": write a name of Kubernetes',
      '- acceptUnsealedUntil is "tomorrow": write a moment, such as 2027-01-31T12:00:00Z, or leave it empty',
      '- tracing.endpoint is "collector:4318": write a URL, such as http://collector.observability:4318, or leave it empty',
      '- tracing.headersSecret is "Not_A_Name": write a name of Kubernetes',
      '- temporal.address is "https://temporal.example.com": write HOST:PORT without a scheme',
      '- temporal.namespace is "x": write a namespace of Temporal',
      '- temporal.ui is "https://temporal.example.com/ui": write HOST:PORT without a scheme',
      '- temporal.tls.caSecret is "Not_A_Name": write a name of Kubernetes',
      '- egress.allow[0] is "https://example.com/path": write one host',
      '- egress.never[0] is "temporal.example.com": write HOST:PORT',
      '- webhook.certificates.life is "90d": write whole hours, such as 2160h',
      '- bridge.codec.origins[0] is "https://temporal.example.com/ui": write an origin without a path',
      '- bridge.settings.plan-wait is "a while": write a duration, such as 500ms, 30s or 2m',
      '- bridge.settings.previous-controller-namespace is "Old": write a namespace of Kubernetes',
      '- bridge.podDisruptionBudget.maxUnavailable is "half": write a number, or a share such as 50%',
      '- worker.settings.build-id is "-": write at most 63 letters',
      '- worker.extraEnv[0].name is "1A": write the name of a variable',
      '- monitoring.podMonitor.interval is "often": write a duration',
      '- networkPolicy.clusterRanges[0] is "10.0.0.1": write a range of addresses, such as 10.244.0.0/16',
      '- planNamespaces[0].name is "Shop": write a namespace of Kubernetes',
      '- planNamespaces[0].serviceAccounts[0] is "shop_dr": write a name of Kubernetes',
      '- planNamespaces[0].operators[0].name is "": write a name',
    ]) {
      expect(said).toContain(sentence);
    }
  });

  it('that makes no sense beside others is told with what to do, all of them at once', async () => {
    const said = await refusal(`
image: { repository: 'registry.example.com:5000/drover:1.0', tag: '2.0', digest: 'sha256:${'a'.repeat(64)}' }
temporal:
  apiKey: { secret: key }
  tls: { clientSecret: client }
webhook: { certificates: { from: secret, issuer: { name: x, kind: Issuer } } }
bridge:
  codec: { enabled: true }
  podDisruptionBudget: { minAvailable: 2 }
  settings: { controller-identity: true }
  extraEnv: [{ name: TEMPORAL_ADDRESS, value: x }]
worker:
  podDisruptionBudget: { maxUnavailable: 0 }
  extraEnv: [{ name: A, value: x }, { name: A, value: z }]
monitoring: { podMonitor: { enabled: true }, serviceMonitor: { enabled: true }, exemplars: true }
tracing: { headersSecret: collector }
networkPolicy: { enabled: true }
rbac: { create: false }
planNamespaces:
  - { name: drover-system, serviceAccounts: [a] }
  - { name: shop, serviceAccounts: [a] }
  - { name: shop, serviceAccounts: [b], operators: [{ kind: ServiceAccount, name: ci }] }
`);
    expect(said).toContain('Drover cannot be installed like this:');
    for (const sentence of [
      '- image.tag is "2.0", but image.digest decides which image is used: leave one of them empty',
      '- image.repository is "registry.example.com:5000/drover:1.0": write it without tag and digest',
      '- temporal.apiKey.secret is set, but TLS is off and the key would travel in the clear',
      '- temporal.tls.clientSecret is set, but TLS is off and it would have no effect',
      '- webhook.certificates.from is "secret", but webhook.certificates.secret is empty: name the Secret',
      '- webhook.certificates.issuer is set, but certificates come from "secret"',
      '- bridge.codec.enabled is true, but nothing is encrypted: name the ring of keys in encryption.secret',
      '- bridge.settings.controller-identity is true, but worker.settings.controller-identity is false: ',
      '- bridge.podDisruptionBudget.minAvailable is 2 of 2 replicas: no node with one of them could be drained',
      '- bridge.extraEnv sets TEMPORAL_ADDRESS once more: use the value that it comes from',
      '- worker.podDisruptionBudget.maxUnavailable is 0: no node with a replica could be drained',
      '- worker.extraEnv sets A once more',
      '- monitoring.podMonitor and monitoring.serviceMonitor are both enabled: every program would be scraped twice',
      '- tracing.headersSecret is set, but there are no traces and it would have no effect',
      '- monitoring.exemplars is true, but there are no traces to name: set tracing.endpoint',
      '- networkPolicy.enabled is true, but networkPolicy.clusterRanges is empty: name the ranges',
      '- planNamespaces names "drover-system", the namespace of Drover itself: its keys are there',
      '- planNamespaces names "shop" twice: write all of it in one entry',
      '- planNamespaces: the operator ServiceAccount "ci" has no namespace: write where it is',
      '- planNamespaces is set, but rbac.create is false and nothing would be granted',
    ]) {
      expect(said).toContain(sentence);
    }
  });
});
