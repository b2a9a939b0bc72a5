/** Control planes of member clusters: one real kube-apiserver each, on the etcd of the stack under prefixes of their own. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lookup } from '../../local/index.js';
import { CertificateAuthority, serviceAccountKeys } from '../../local/certificates.js';
import { kubeconfig } from '../../local/kubeconfig.js';
import { dataPaths } from '../../local/paths.js';
import { choosePorts } from '../../local/ports.js';
import { startDetached, stopProcess, waitReady } from '../../local/processes.js';
import type { ProcessSpec } from '../../local/processes.js';
import { readState, writeWhole } from '../../local/state.js';
import type { KubeClient } from '../../kube/client.js';
import { connect } from '../support/attempts.js';
import { recordServer } from '../support/leftovers.js';

/** A member cluster that runs. */
export interface Child {
  name: string;
  server: string;
  /** Certificate of its authority, PEM. */
  ca: string;
  /** As its administrator. */
  kube: KubeClient;
  /** Token of an account there that may do everything, as Clusternet's deployer may. */
  token: string;
  stop(): Promise<void>;
}

const DEPLOYER = 'clusternet-app-deployer';

/**
 * Starts the API server of a member cluster. No controllers run in it: what they would do to objects (statuses,
 * removal of namespaces) does not happen, so tests write such statuses themselves.
 *
 * @param dataDir of the stack that is up
 */
export async function startChild(name: string, dataDir: string): Promise<Child> {
  const stack = dataPaths(dataDir);
  const etcdPort = (await readState(stack.state))?.ports.etcd;
  if (etcdPort === undefined) throw new Error(`${dataDir} is not up`);
  const { found } = await lookup(['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd']);
  const program = found['kube-apiserver'];
  if (program === undefined) throw new Error('no kube-apiserver; the stack should have found or built one');

  const folder = await mkdtemp(join(tmpdir(), `drover-child-${name}-`));
  const { api: port } = await choosePorts({ names: ['api'], remembered: {}, keep: () => false });
  const server = `https://127.0.0.1:${port}`;
  const ca = await CertificateAuthority.open(folder, 'ca');
  await ca.issue({
    name: 'apiserver',
    commonName: 'kube-apiserver',
    hosts: ['localhost', '127.0.0.1'],
    usage: ['server'],
  });
  const admin = await ca.issue({
    name: 'admin',
    commonName: 'admin',
    organizations: ['system:masters'],
    usage: ['client'],
  });
  const keys = await serviceAccountKeys(folder);
  const own = (file: string): string => join(folder, file);
  const ofStack = (file: string): string => join(stack.pki, file);
  const file = own('kubeconfig');
  await writeWhole(file, kubeconfig({ name, server, ca: ca.certificate, user: 'admin', ...admin }));
  const kube = connect(file);
  const spec: ProcessSpec = {
    name: 'apiserver',
    command: program.path,
    args: [
      ...['--bind-address', '127.0.0.1', '--secure-port', String(port), '--advertise-address', '127.0.0.1'],
      ...['--endpoint-reconciler-type', 'none', '--service-cluster-ip-range', '10.0.0.0/24'],
      ...['--tls-cert-file', own('apiserver.crt'), '--tls-private-key-file', own('apiserver.key')],
      ...['--client-ca-file', own('ca.crt'), '--authorization-mode', 'RBAC', '--anonymous-auth=false'],
      ...['--etcd-servers', `https://127.0.0.1:${etcdPort}`, '--etcd-prefix', `/${name}-${randomUUID()}`],
      ...['--etcd-cafile', ofStack('etcd-ca.crt')],
      ...['--etcd-certfile', ofStack('etcd-client.crt'), '--etcd-keyfile', ofStack('etcd-client.key')],
      ...['--service-account-issuer', `https://${name}.invalid`],
      ...[
        '--service-account-key-file',
        keys.publicKey,
        '--service-account-signing-key-file',
        keys.privateKey,
      ],
      '--profiling=false',
    ],
    env: { KUBECONFIG: undefined },
    log: own('apiserver.log'),
    ready: async () => {
      await kube.text({ method: 'GET', path: '/readyz', timeoutMs: 2000 }, 1000);
      return true;
    },
    readyTimeoutMs: 60_000,
  };
  const record = await startDetached(spec);
  await recordServer(folder, 'apiserver', record);
  const stop = async (): Promise<void> => {
    await stopProcess(record, 5000);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await waitReady(spec, record);
    return {
      name,
      server,
      ca: await readFile(own('ca.crt'), 'utf8'),
      kube,
      token: await deployerToken(kube),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function deployerToken(kube: KubeClient): Promise<string> {
  const namespace = 'kube-system';
  await kube.create({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: DEPLOYER, namespace },
  });
  await kube.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: DEPLOYER },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: DEPLOYER, namespace }],
  });
  const { status } = await kube.raw<{ status: { token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${DEPLOYER}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  return status.token;
}
