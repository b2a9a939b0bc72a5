import { KubeError } from './error.js';
import type { Transport } from './transport.js';

/** How a kind is reached. */
export interface ResourceType {
  apiVersion: string;
  kind: string;
  plural: string;
  namespaced: boolean;
  verbs: readonly string[];
}

/** How a kind is looked up. */
export interface ResolveOptions {
  /** Asks the server even if the answer is known: for a kind that was defined or removed a moment ago. */
  anew?: true;
}

/** Finds the resource of a kind. */
export interface Discovery {
  /**
   * @throws {@link KubeError} with reason `KindNotFound` (code 404) when the cluster does not serve the kind.
   */
  resolve(apiVersion: string, kind: string, options?: ResolveOptions): Promise<ResourceType>;
}

interface ApiResourceList {
  resources: { name: string; kind: string; namespaced: boolean; verbs?: string[] }[];
}

/** A kind that was not there may have been installed since: ask again after this time. */
const NEGATIVE_TTL_MS = 5_000;

/** Discovery that keeps what it has learnt. */
export function createDiscovery(transport: Transport): Discovery {
  const groups = new Map<string, { at: number; types: Promise<Map<string, ResourceType>> }>();

  function load(apiVersion: string): Promise<Map<string, ResourceType>> {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const types = transport.json<ApiResourceList>({ method: 'GET', path }).then(
      (list) =>
        new Map(
          list.resources
            .filter((resource) => !resource.name.includes('/'))
            .map((resource): [string, ResourceType] => [
              resource.kind,
              {
                apiVersion,
                kind: resource.kind,
                plural: resource.name,
                namespaced: resource.namespaced,
                verbs: resource.verbs ?? [],
              },
            ]),
        ),
      (error: unknown) => {
        if (error instanceof KubeError && error.code === 404) return new Map<string, ResourceType>();
        groups.delete(apiVersion);
        throw error;
      },
    );
    groups.set(apiVersion, { at: Date.now(), types });
    return types;
  }

  return {
    async resolve(apiVersion, kind, options) {
      const known = options?.anew === true ? undefined : groups.get(apiVersion);
      let type = (await (known?.types ?? load(apiVersion))).get(kind);
      if (type === undefined && known !== undefined && Date.now() - known.at > NEGATIVE_TTL_MS) {
        type = (await load(apiVersion)).get(kind);
      }
      if (type === undefined) {
        throw new KubeError(
          `the cluster does not serve kind ${kind} in ${apiVersion}; install its CustomResourceDefinition or correct apiVersion and kind`,
          { code: 404, reason: 'KindNotFound' },
        );
      }
      return type;
    },
  };
}
