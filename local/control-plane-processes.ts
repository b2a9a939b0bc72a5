/** How each process of the control plane is started, and when it serves. */
import { join } from 'node:path';
import { Agent } from 'undici';
import type { KubeClient } from '../kube/client.js';
import { answersOk } from './answers-ok.js';
import { SERVICE_RANGE, type ControlPlaneCredentials } from './control-plane-credentials.js';
import type {
  ControlPlaneOptions,
  ControlPlaneProcess,
  ControlPlaneProgram,
} from './control-plane-options.js';
import { fakeNodeSelector } from './fake-node/node.js';
import type { ProcessSpec } from './processes.js';

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

/** What is written before anything is started. */
export interface LaidOut {
  credentials: ControlPlaneCredentials;
  admin: KubeClient;
  /** Configuration files. */
  schedulerConfig: string;
  stages: string;
}

/** The processes of a control plane that is laid out. */
export function controlPlaneProcesses(
  options: ControlPlaneOptions,
  laidOut: LaidOut,
): Record<ControlPlaneProcess, ProcessSpec> {
  const { paths, ports, programs } = options;
  const { admin, credentials, schedulerConfig, stages } = laidOut;
  const etcd = `https://127.0.0.1:${ports.etcd}`;
  const etcdClient = new Agent({ connect: { ...credentials.etcdClient, timeout: 3000 } });
  const spec = (
    name: ControlPlaneProcess,
    program: ControlPlaneProgram,
    args: string[],
    ready: () => Promise<boolean> = () => Promise.resolve(true),
  ): ProcessSpec => ({
    name,
    command: programs[program].path,
    args,
    env: { KUBECONFIG: undefined },
    log: join(paths.logs, `${name}.log`),
    ready,
    readyTimeoutMs: startTimeoutMs,
  });
  return {
    etcd: spec('etcd', 'etcd', etcdArguments(options, etcd), () => answersOk(`${etcd}/health`, etcdClient)),
    apiserver: spec(
      'apiserver',
      'kube-apiserver',
      apiServerArguments(options, credentials, etcd),
      async () => {
        await admin.text({ method: 'GET', path: '/readyz', timeoutMs: 2000 }, 1000);
        return true;
      },
    ),
    controllerManager: spec(
      'controllerManager',
      'kube-controller-manager',
      controllerManagerArguments(options, credentials),
    ),
    scheduler: spec('scheduler', 'kube-scheduler', ['--config', schedulerConfig, '--secure-port', '0']),
    kwok: spec('kwok', 'kwok', [
      ...['--kubeconfig', credentials.kubeconfigs.kwok, '--config', stages],
      ...['--manage-nodes-with-label-selector', fakeNodeSelector, '--node-lease-duration-seconds', '40'],
    ]),
  };
}

function etcdArguments({ paths, ports, ephemeral }: ControlPlaneOptions, server: string): string[] {
  const pki = (file: string): string => join(paths.pki, file);
  const peer = `https://127.0.0.1:${ports.etcdPeer}`;
  return [
    ...['--name', 'drover', '--data-dir', ephemeral ? paths.etcdEphemeral : paths.etcd],
    ...['--listen-client-urls', server, '--advertise-client-urls', server],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', `drover=${peer}`],
    ...['--client-cert-auth', '--trusted-ca-file', pki('etcd-ca.crt')],
    ...['--cert-file', pki('etcd.crt'), '--key-file', pki('etcd.key')],
    ...['--peer-client-cert-auth', '--peer-trusted-ca-file', pki('etcd-ca.crt')],
    ...['--peer-cert-file', pki('etcd.crt'), '--peer-key-file', pki('etcd.key')],
    ...['--auto-compaction-retention', '1h', '--log-level', 'warn'],
    ...(ephemeral ? ['--unsafe-no-fsync'] : []),
  ];
}

function apiServerArguments(
  { paths, ports }: ControlPlaneOptions,
  { serviceAccounts }: ControlPlaneCredentials,
  etcd: string,
): string[] {
  const pki = (file: string): string => join(paths.pki, file);
  return [
    ...['--bind-address', '127.0.0.1', '--secure-port', String(ports.apiserver)],
    ...['--advertise-address', '127.0.0.1', '--endpoint-reconciler-type', 'none'],
    ...['--tls-cert-file', pki('apiserver.crt'), '--tls-private-key-file', pki('apiserver.key')],
    ...['--client-ca-file', pki('ca.crt')],
    ...['--etcd-servers', etcd, '--etcd-cafile', pki('etcd-ca.crt')],
    ...['--etcd-certfile', pki('etcd-client.crt'), '--etcd-keyfile', pki('etcd-client.key')],
    ...['--service-account-issuer', 'https://kubernetes.default.svc'],
    ...['--service-account-key-file', serviceAccounts.publicKey],
    ...['--service-account-signing-key-file', serviceAccounts.privateKey],
    ...['--authorization-mode', 'Node,RBAC', '--anonymous-auth=false'],
    ...['--service-cluster-ip-range', SERVICE_RANGE, '--allow-privileged', '--profiling=false'],
  ];
}

function controllerManagerArguments(
  { paths }: ControlPlaneOptions,
  { kubeconfigs, serviceAccounts }: ControlPlaneCredentials,
): string[] {
  return [
    ...['--kubeconfig', kubeconfigs['controller-manager'], '--use-service-account-credentials'],
    ...['--service-account-private-key-file', serviceAccounts.privateKey],
    ...['--root-ca-file', join(paths.pki, 'ca.crt')],
    ...['--leader-elect=false', '--secure-port', '0', '--profiling=false'],
    ...['--controllers', controllers.join(',')],
    ...['--node-monitor-period', '2s', '--kube-api-qps', '200', '--kube-api-burst', '400'],
    ...['--concurrent-job-syncs', '10'],
  ];
}
