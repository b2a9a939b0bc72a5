import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ProgramName } from './binaries-lookup.js';
import { CertificateAuthority, serviceAccountKeys, type KeyPair } from './certificates.js';
import { fakeNodeSelector } from './fake-node/node.js';
import { stagesFile } from './fake-node/stages.js';
import { certificateApi, type KubeApi } from './kube-api.js';
import { kubeconfig } from './kubeconfig.js';
import type { DataPaths } from './paths.js';
import type { ProcessSpec } from './processes.js';
import { identities } from './rbac.js';
import { writeWhole, type PortName, type ProcessName } from './state.js';

/** The processes of the control plane. */
export type ControlPlaneProcess = Extract<
  ProcessName,
  'etcd' | 'apiserver' | 'controllerManager' | 'scheduler' | 'kwok'
>;

/** Programs the control plane is made of. */
export type ControlPlaneProgram = Exclude<ProgramName, 'kubectl' | 'temporal'>;

/** What the control plane is laid out from. Seam: a second control plane, such as another hub, is one more call with folders and ports of its own. */
export interface ControlPlaneOptions {
  paths: DataPaths;
  ports: Record<PortName, number>;
  programs: Record<ControlPlaneProgram, { path: string }>;
  /** Skips fsync: faster, and data may be lost when the machine (not just a process) dies. */
  ephemeral: boolean;
}

/** A laid-out control plane: files written, nothing started. */
export interface ControlPlane {
  server: string;
  specs: Record<ControlPlaneProcess, ProcessSpec>;
  /** A client with the administrator's certificate. */
  admin: KubeApi;
  /** Kubeconfig files of our own processes. */
  kubeconfigs: { bridge: string; worker: string; clusternet: string };
  close: () => Promise<void>;
}

const serviceRange = '10.0.0.0/24';
const firstServiceAddress = '10.0.0.1';
const startTimeoutMs = 60_000;

/**
 * Every controller the examples and tests can notice missing: what makes Jobs,
 * workloads, namespaces, garbage collection and service accounts behave as on a
 * real cluster, and the one that takes the not-ready taint off the fake node.
 * Those that need a cloud, volumes or a network are left out.
 */
const controllers = [
  'clusterrole-aggregation-controller',
  'cronjob-controller',
  'daemonset-controller',
  'deployment-controller',
  'garbage-collector-controller',
  'job-controller',
  'namespace-controller',
  'node-lifecycle-controller',
  'pod-garbage-collector-controller',
  'replicaset-controller',
  'resourcequota-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'statefulset-controller',
  'taint-eviction-controller',
  'ttl-after-finished-controller',
  'validatingadmissionpolicy-status-controller',
];

/** Writes certificates, kubeconfigs and configuration files, and says how to start each process. */
export async function layOutControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { paths, ports } = options;
  const server = `https://127.0.0.1:${ports.apiserver}`;
  // etcd has an authority of its own: a Kubernetes user's certificate must not open it.
  const etcdCa = await CertificateAuthority.open(paths.pki, 'etcd-ca');
  const ca = await CertificateAuthority.open(paths.pki, 'ca');
  const loopback = { dns: ['localhost'], ip: ['127.0.0.1'] };
  await etcdCa.issue({ name: 'etcd', commonName: 'etcd', hosts: loopback, usage: ['server', 'client'] });
  await ca.issue({
    name: 'apiserver',
    commonName: 'kube-apiserver',
    hosts: {
      dns: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
      ip: ['127.0.0.1', firstServiceAddress],
    },
    usage: ['server'],
  });
  const [etcdClient, adminCert, keys] = await Promise.all([
    etcdCa.issue({ name: 'etcd-client', commonName: 'kube-apiserver', usage: ['client'] }),
    ca.issue({
      name: 'admin',
      commonName: 'drover:admin',
      organizations: ['system:masters'],
      usage: ['client'],
    }),
    serviceAccountKeys(paths.pki),
  ]);
  const writeKubeconfig = async (file: string, user: string, pair: KeyPair): Promise<string> => {
    await writeWhole(file, kubeconfig({ name: 'drover', server, ca: ca.certificate, user, ...pair }));
    return file;
  };
  const forUser = async (name: string, user: string): Promise<string> =>
    writeKubeconfig(
      join(paths.pki, `${name}.kubeconfig`),
      user,
      await ca.issue({ name, commonName: user, usage: ['client'] }),
    );
  await writeKubeconfig(paths.kubeconfig, 'drover:admin', adminCert);
  const [controllerManager, scheduler, kwok, bridge, worker, clusternet] = await Promise.all([
    forUser('controller-manager', 'system:kube-controller-manager'),
    forUser('scheduler', 'system:kube-scheduler'),
    forUser('kwok', identities.kwok),
    forUser('bridge', identities.bridge),
    forUser('worker', identities.worker),
    forUser('clusternet', identities.clusternet),
  ]);
  const schedulerConfig = join(paths.data, 'scheduler.yaml');
  const stages = join(paths.data, 'stages.yaml');
  await writeWhole(schedulerConfig, schedulerConfiguration(scheduler));
  await writeWhole(stages, stagesFile());

  const admin = certificateApi({ server, ca: ca.certificate, ...adminCert });
  const etcd = certificateApi({
    server: `https://127.0.0.1:${ports.etcd}`,
    ca: etcdCa.certificate,
    ...etcdClient,
  });
  const pki = (file: string): string => join(paths.pki, file);
  const spec = (
    name: ControlPlaneProcess,
    program: ControlPlaneProgram,
    args: string[],
    ready: () => Promise<boolean> = () => Promise.resolve(true),
  ): ProcessSpec => ({
    name,
    command: options.programs[program].path,
    args,
    env: { KUBECONFIG: undefined },
    log: join(paths.logs, `${name}.log`),
    ready,
    readyTimeoutMs: startTimeoutMs,
  });
  const specs = {
    etcd: spec(
      'etcd',
      'etcd',
      [
        ...['--name', 'drover', '--data-dir', options.ephemeral ? paths.etcdEphemeral : paths.etcd],
        ...['--listen-client-urls', etcd.server, '--advertise-client-urls', etcd.server],
        ...['--listen-peer-urls', `https://127.0.0.1:${ports.etcdPeer}`],
        ...['--initial-advertise-peer-urls', `https://127.0.0.1:${ports.etcdPeer}`],
        ...['--initial-cluster', `drover=https://127.0.0.1:${ports.etcdPeer}`],
        ...['--client-cert-auth', '--trusted-ca-file', pki('etcd-ca.crt')],
        ...['--cert-file', pki('etcd.crt'), '--key-file', pki('etcd.key')],
        ...['--peer-client-cert-auth', '--peer-trusted-ca-file', pki('etcd-ca.crt')],
        ...['--peer-cert-file', pki('etcd.crt'), '--peer-key-file', pki('etcd.key')],
        ...['--auto-compaction-retention', '1h', '--log-level', 'warn'],
        ...(options.ephemeral ? ['--unsafe-no-fsync'] : []),
      ],
      async () => (await etcd.request('GET', '/health', { timeoutMs: 2000 })).status === 200,
    ),
    apiserver: spec(
      'apiserver',
      'kube-apiserver',
      [
        ...['--bind-address', '127.0.0.1', '--secure-port', String(ports.apiserver)],
        ...['--advertise-address', '127.0.0.1', '--endpoint-reconciler-type', 'none'],
        ...['--tls-cert-file', pki('apiserver.crt'), '--tls-private-key-file', pki('apiserver.key')],
        ...['--client-ca-file', pki('ca.crt')],
        ...['--etcd-servers', etcd.server, '--etcd-cafile', pki('etcd-ca.crt')],
        ...['--etcd-certfile', pki('etcd-client.crt'), '--etcd-keyfile', pki('etcd-client.key')],
        ...['--service-account-issuer', 'https://kubernetes.default.svc'],
        ...['--service-account-key-file', keys.publicKey],
        ...['--service-account-signing-key-file', keys.privateKey],
        ...['--authorization-mode', 'Node,RBAC', '--anonymous-auth=false'],
        ...['--service-cluster-ip-range', serviceRange, '--allow-privileged', '--profiling=false'],
      ],
      async () => (await admin.request('GET', '/readyz', { timeoutMs: 2000 })).status === 200,
    ),
    controllerManager: spec('controllerManager', 'kube-controller-manager', [
      ...['--kubeconfig', controllerManager, '--use-service-account-credentials'],
      ...['--service-account-private-key-file', keys.privateKey, '--root-ca-file', pki('ca.crt')],
      ...['--leader-elect=false', '--secure-port', '0', '--profiling=false'],
      ...['--controllers', controllers.join(',')],
      ...['--node-monitor-period', '2s', '--kube-api-qps', '200', '--kube-api-burst', '400'],
      ...['--concurrent-job-syncs', '10'],
    ]),
    scheduler: spec('scheduler', 'kube-scheduler', ['--config', schedulerConfig, '--secure-port', '0']),
    kwok: spec('kwok', 'kwok', [
      ...['--kubeconfig', kwok, '--config', stages],
      ...['--manage-nodes-with-label-selector', fakeNodeSelector, '--node-lease-duration-seconds', '40'],
    ]),
  };
  return {
    server,
    specs,
    admin,
    kubeconfigs: { bridge, worker, clusternet },
    close: async () => {
      await Promise.all([admin.close(), etcd.close()]);
    },
  };
}

function schedulerConfiguration(kubeconfigFile: string): string {
  return stringify({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    leaderElection: { leaderElect: false },
    clientConnection: { kubeconfig: kubeconfigFile, qps: 200, burst: 400 },
  });
}
