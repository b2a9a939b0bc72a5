import { ANNOTATIONS } from '../../api/core/group.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import { matchesHost } from './addresses.js';
import type { AttemptResult } from './handler.js';

/** A key of a Secret in the plan's namespace. */
export interface SecretKey {
  name: string;
  key: string;
}

/** A Secret's value, and which version of the Secret it is. */
export interface SecretValue {
  text: string;
  /** Changes whenever the Secret does. */
  version: string;
}

/** Who reads, and where. */
export interface SecretReader {
  /** As the identity that the action acts with: what that identity may not read, the action does not get. */
  kube: KubeClient;
  namespace: string;
  signal: AbortSignal;
  /** Host that the value is sent to; absent: it stays here. */
  host?: string;
}

type Failed = Extract<AttemptResult, { kind: 'failed' }>;

/**
 * Reads a key of a Secret. A line end at its very end is dropped: files put into a Secret usually have one.
 * A Secret may limit where its values are sent, by the annotation `…/allowed-hosts`: names and `*.domain`, by commas.
 *
 * @param what what the value is for, for messages: "which header x comes from"
 * @returns the value, or the failure `SecretNotFound` or `SecretHostRefused`
 * @throws KubeError when the Secret cannot be read
 */
export async function readSecretKey(
  ref: SecretKey,
  what: string,
  { kube, namespace, signal, host }: SecretReader,
): Promise<SecretValue | Failed> {
  const secret = await kube.get<KubeObject & { data?: Record<string, string> }>(
    { apiVersion: 'v1', kind: 'Secret', namespace, name: ref.name },
    { signal },
  );
  const where = `Secret ${namespace}/${ref.name}`;
  if (secret === undefined) return notFound(`${where}, ${what}, does not exist; create it`);
  const hosts = secret.metadata.annotations?.[ANNOTATIONS.allowedHosts];
  if (host !== undefined && hosts !== undefined && !namesHost(hosts, host)) {
    return {
      kind: 'failed',
      reason: 'SecretHostRefused',
      message: `${where} may not be sent to ${host}: its annotation ${ANNOTATIONS.allowedHosts} allows ${JSON.stringify(hosts)}`,
      effect: 'None',
    };
  }
  const data = secret.data ?? {};
  const encoded = Object.hasOwn(data, ref.key) ? data[ref.key] : undefined;
  if (encoded === undefined) {
    const keys = Object.keys(data).join(', ') || 'none';
    return notFound(`${where} has no key "${ref.key}", ${what}; it has ${keys}`);
  }
  const { uid = '', resourceVersion = '' } = secret.metadata;
  return {
    text: Buffer.from(encoded, 'base64')
      .toString('utf8')
      .replace(/\r?\n$/, ''),
    version: `${uid}/${resourceVersion}`,
  };
}

const namesHost = (list: string, host: string): boolean =>
  list.split(',').some((name) => matchesHost(name.trim().toLowerCase(), host.toLowerCase()));

const notFound = (message: string): Failed => ({
  kind: 'failed',
  reason: 'SecretNotFound',
  message,
  effect: 'None',
});
