/** The keys of seals as a Secret of the installation (docs/security.md#seals). */
import { newSealKey } from '../api/core/seal.js';
import type { KubeClient } from './client.js';
import { isAlreadyExists, isNotFound } from './error.js';
import type { KubeObject } from './object.js';

/** Name of the Secret, in the namespace of the installation. */
export const SEAL_SECRET = 'drover-seal';

type Secret = KubeObject & { data?: Record<string, string> };

/**
 * Reads the entries of the ring; each has a key's id as its name and 32 bytes in base64 as its text.
 *
 * @param options.make makes the Secret where there is none, as the first bridge does; others wait for it
 * @returns reads the entries; throws an Error with a message for people while they cannot be had
 */
export function sealSecret(options: {
  kube: KubeClient;
  namespace: string;
  make: boolean;
  now?: () => Date;
}): () => Promise<Record<string, string>> {
  const { kube, namespace, make, now = () => new Date() } = options;
  const where = `Secret ${namespace}/${SEAL_SECRET}`;
  const read = (): Promise<Secret | undefined> =>
    kube.get<Secret>({ apiVersion: 'v1', kind: 'Secret', namespace, name: SEAL_SECRET });

  async function create(): Promise<void> {
    const { id, value } = newSealKey(now());
    const secret: Secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: { namespace, name: SEAL_SECRET },
      data: { [id]: Buffer.from(value).toString('base64') },
    };
    try {
      await kube.create(secret);
    } catch (error) {
      // Another replica was faster: its key is as good.
      if (isAlreadyExists(error)) return;
      if (!isNotFound(error)) throw error;
      throw new Error(
        `${where} cannot be made: there is no namespace ${namespace}; apply deploy/rbac/bridge.yaml, or name the namespace of this installation by DROVER_NAMESPACE`,
        { cause: error },
      );
    }
  }

  return async () => {
    let found = await read();
    if (found === undefined && make) {
      await create();
      found = await read();
    }
    if (found === undefined) {
      throw new Error(
        `${where}, which keeps the keys of seals, is not there; the bridge makes it when it starts: is it running, with the same DROVER_NAMESPACE?`,
      );
    }
    return Object.fromEntries(
      Object.entries(found.data ?? {}).map(([id, value]) => [
        id,
        Buffer.from(value, 'base64').toString('utf8'),
      ]),
    );
  };
}
