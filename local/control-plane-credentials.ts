import { join } from 'node:path';
import type { KeyPair } from '../runtime/x509.js';
import { CertificateAuthority, serviceAccountKeys } from './certificates.js';
import { kubeconfig } from './kubeconfig.js';
import type { DataPaths } from './paths.js';
import { identities } from './rbac.js';
import { writeWhole } from './state.js';

/** A certificate and its key, with the certificate of whom they are shown to; all PEM. */
export type ClientCredentials = KeyPair & { ca: string };

/** What the parts of a control plane know each other by. The certificates are in the folder for them, too. */
export interface ControlPlaneCredentials {
  etcdClient: ClientCredentials;
  admin: ClientCredentials;
  /** Files of the keys that sign tokens of service accounts. */
  serviceAccounts: { privateKey: string; publicKey: string };
  /** Kubeconfig files. */
  kubeconfigs: Record<keyof typeof USERS, string>;
}

/** Users with a kubeconfig of their own, by the name of its file. */
const USERS = {
  'controller-manager': 'system:kube-controller-manager',
  scheduler: 'system:kube-scheduler',
  kwok: identities.kwok,
  bridge: identities.bridge,
  worker: identities.worker,
  clusternet: identities.clusternet,
} as const;
const ADMIN = 'drover:admin';
/** First address of {@link SERVICE_RANGE}: pods reach the API server by it. */
const FIRST_SERVICE_ADDRESS = '10.0.0.1';

/** Addresses of Services. */
export const SERVICE_RANGE = '10.0.0.0/24';

/** Issues what is not there yet, and writes the kubeconfigs of the processes and of the administrator. */
export async function issueCredentials(paths: DataPaths, server: string): Promise<ControlPlaneCredentials> {
  // etcd has an authority of its own: a Kubernetes user's certificate must not open it.
  const etcdCa = await CertificateAuthority.open(paths.pki, 'etcd-ca');
  const ca = await CertificateAuthority.open(paths.pki, 'ca');
  await issueServing(etcdCa, ca);
  const [etcdClient, admin, serviceAccounts] = await Promise.all([
    etcdCa.issue({ name: 'etcd-client', commonName: 'kube-apiserver', usage: ['client'] }),
    ca.issue({ name: 'admin', commonName: ADMIN, organizations: ['system:masters'], usage: ['client'] }),
    serviceAccountKeys(paths.pki),
  ]);
  const write = (file: string, user: string, pair: KeyPair): Promise<void> =>
    writeWhole(file, kubeconfig({ name: 'drover', server, ca: ca.certificate, user, ...pair }));
  const files = Object.entries(USERS).map(async ([name, user]) => {
    const file = join(paths.pki, `${name}.kubeconfig`);
    await write(file, user, await ca.issue({ name, commonName: user, usage: ['client'] }));
    return [name, file] as const;
  });
  await write(paths.kubeconfig, ADMIN, admin);
  return {
    etcdClient: { ca: etcdCa.certificate, ...etcdClient },
    admin: { ca: ca.certificate, ...admin },
    serviceAccounts,
    kubeconfigs: Object.fromEntries(await Promise.all(files)) as ControlPlaneCredentials['kubeconfigs'],
  };
}

/** What etcd and the API server listen with. */
async function issueServing(etcdCa: CertificateAuthority, ca: CertificateAuthority): Promise<void> {
  const loopback = ['localhost', '127.0.0.1'];
  await etcdCa.issue({ name: 'etcd', commonName: 'etcd', hosts: loopback, usage: ['server', 'client'] });
  await ca.issue({
    name: 'apiserver',
    commonName: 'kube-apiserver',
    hosts: [
      ...loopback,
      ...['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', FIRST_SERVICE_ADDRESS],
    ],
    usage: ['server'],
  });
}
