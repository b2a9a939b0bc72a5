import { isIP } from 'node:net';
import type { KubeClient } from '../../kube/client.js';
import { isAlreadyExists, isConflict } from '../../kube/error.js';
import type { KubeObject } from '../../kube/object.js';
import { checkAuthorities, checkPair, readPem } from '../../runtime/pem.js';
import { renew } from './certificates.js';
import type { Lifetimes, Material } from './certificates.js';

/** What a server serves with, and which authorities its callers have to trust. */
export interface Serving {
  cert: string;
  key: string;
  /** Absent when somebody else configures whom the API server trusts. */
  caBundle?: string;
}

/** Where certificates come from. Asked again and again; each answer is good at that moment. */
export interface CertificateSource {
  read(): Promise<Serving>;
}

/** Name of the Secret that all replicas share. */
export const TLS_SECRET = 'drover-webhook-tls';

const ATTEMPTS = 5;

/**
 * Certificates that the bridge makes itself, kept in a Secret so that all replicas serve the same. A replica that finds
 * a part past two thirds of its life renews it; the Secret's resourceVersion decides between replicas.
 */
export function ownCertificates(options: {
  kube: KubeClient;
  namespace: string;
  hosts: readonly string[];
  lifetimes: Lifetimes;
  now?: () => Date;
}): CertificateSource {
  const { kube, namespace, hosts, lifetimes, now = () => new Date() } = options;
  const key = { apiVersion: 'v1', kind: 'Secret', namespace, name: TLS_SECRET };
  /** Outlives the Secret: API servers that trust it must not be cut off when somebody deletes the Secret. */
  let last: Material | undefined;

  async function attempt(): Promise<Material | undefined> {
    const secret = await kube.get<KubeObject & { data?: Record<string, string> }>(key);
    const present = secret === undefined ? last : decode(secret.data);
    const { material, changed } = await renew(present, { hosts, lifetimes, now: now() });
    if (!changed && secret !== undefined) return material;
    const wanted = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: {
        namespace,
        name: TLS_SECRET,
        ...(secret?.metadata.resourceVersion !== undefined && {
          resourceVersion: secret.metadata.resourceVersion,
        }),
      },
      data: encode(material),
    };
    try {
      await (secret === undefined ? kube.create(wanted) : kube.replace(wanted));
      return material;
    } catch (error) {
      // Another replica was faster: what it made is as good.
      if (isAlreadyExists(error) || isConflict(error)) return undefined;
      throw error;
    }
  }

  return {
    async read() {
      for (let n = 0; n < ATTEMPTS; n += 1) {
        const material = await attempt();
        if (material === undefined) continue;
        last = material;
        return material;
      }
      throw new Error(`Secret ${namespace}/${TLS_SECRET} was changed by others ${ATTEMPTS} times in a row`);
    },
  };
}

/**
 * Certificates that somebody else keeps in files, such as a mounted Secret of cert-manager.
 *
 * @param options.host under which the API server calls the webhooks
 */
export function certificateFiles(
  files: { cert: string; key: string; ca?: string },
  { host, now = () => new Date() }: { host: string; now?: () => Date },
): CertificateSource {
  // eslint-disable-next-line @typescript-eslint/require-await -- a look that fails is a rejection
  const read = async (): Promise<Serving> => {
    const cert = readPem(files.cert, `the certificate of the webhooks (--webhook-cert=${files.cert})`);
    const key = readPem(files.key, `the key of the webhooks (--webhook-key=${files.key})`);
    const certificate = checkPair(cert, key, now());
    if ((isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) === undefined)
      throw new Error(
        `${cert.called} is not for "${host}", under which the API server calls them: have one made that names it`,
      );
    const serving = { cert: cert.text, key: key.text };
    if (files.ca === undefined) return serving;
    const ca = readPem(files.ca, `the authority of the webhooks (--webhook-ca=${files.ca})`);
    checkAuthorities(ca, now());
    return { ...serving, caBundle: ca.text };
  };
  return { read };
}

const FIELDS = {
  caBundle: 'ca.crt',
  caKey: 'ca.key',
  cert: 'tls.crt',
  key: 'tls.key',
} as const satisfies Record<keyof Material, string>;

function decode(data: Record<string, string> | undefined): Partial<Material> {
  const read = (field: string): string => Buffer.from(data?.[field] ?? '', 'base64').toString('utf8');
  return {
    caBundle: read(FIELDS.caBundle),
    caKey: read(FIELDS.caKey),
    cert: read(FIELDS.cert),
    key: read(FIELDS.key),
  };
}

const encode = (material: Material): Record<string, string> =>
  Object.fromEntries(
    (Object.keys(FIELDS) as (keyof Material)[]).map((part) => [
      FIELDS[part],
      Buffer.from(material[part]).toString('base64'),
    ]),
  );
