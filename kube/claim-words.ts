/** The words by which an installation claims its cluster id, in a ConfigMap of its namespace. */
import type { KubeClient } from './client.js';
import { isAlreadyExists, isConflict, KubeError } from './error.js';
import type { KubeObject } from './object.js';

/** Name of the ConfigMap, in the namespace of the installation. */
export const CLAIM_CONFIG_MAP = 'drover-claim';

type ConfigMap = KubeObject & { data?: Record<string, string> };

/** Reads and writes the words, newest first. */
export function createClaimWords(options: { kube: KubeClient; namespace: string }): {
  read(): Promise<readonly string[]>;
  write(words: readonly string[]): Promise<boolean>;
} {
  const { kube, namespace } = options;
  const key = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: CLAIM_CONFIG_MAP };
  let seen: ConfigMap | undefined;
  const wordsOf = (found: ConfigMap | undefined): string[] =>
    (found?.data?.['words'] ?? '').split(' ').filter((word) => word !== '');

  return {
    async read() {
      seen = await kube.get<ConfigMap>(key);
      return wordsOf(seen);
    },
    async write(said) {
      const words = said.join(' ');
      try {
        seen =
          seen === undefined
            ? await kube.create<ConfigMap>({
                apiVersion: 'v1',
                kind: 'ConfigMap',
                metadata: { namespace, name: CLAIM_CONFIG_MAP },
                data: { words },
              })
            : await kube.replace<ConfigMap>({ ...seen, data: { ...seen.data, words } });
        return true;
      } catch (error) {
        if (isAlreadyExists(error) || isConflict(error)) return false;
        throw error;
      }
    },
  };
}

/** Whether an error says that an installation, perhaps one of an earlier release, may not keep its words. */
export const mayNotKeepWords = (error: unknown): boolean =>
  error instanceof KubeError && [403, 404].includes(error.code);
