import type { KubeClient } from './client.js';
import { KubeError } from './error.js';

/** What an API server says about the fields of its kinds (OpenAPI v3). */
export interface OpenApi<T> {
  /**
   * What `make` made of the document of a group and version; undefined where the server has none.
   *
   * A document is read to its end and kept even if the caller has left: the next one finds it.
   *
   * @throws KubeError when the server does not answer within {@link READ_MS}, or refuses the caller
   */
  of(apiVersion: string): Promise<T | undefined>;
}

/** How long the list of documents, each with a hash of its content, counts as current. */
const INDEX_FRESH_MS = 5000;
/** Time for one answer of the server. */
const READ_MS = 10_000;
/** Documents have up to some megabytes; the results of this many are kept. */
const MAX_KEPT = 16;

interface Index {
  paths: Record<string, { serverRelativeURL: string } | undefined>;
}

/**
 * Reads documents when they are asked for, and again when they have changed.
 *
 * @param make makes what is kept of a document, from its `components.schemas`
 */
export function createOpenApi<T>(
  kube: Pick<KubeClient, 'raw'>,
  make: (schemas: Record<string, unknown>, apiVersion: string) => T,
): OpenApi<T> {
  let index: { at: number; read: Promise<Index> } | undefined;
  const documents = new Map<string, Promise<T>>();

  async function get<R>(path: string): Promise<R> {
    const signal = AbortSignal.timeout(READ_MS);
    try {
      return await kube.raw<R>({ method: 'GET', path, signal });
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new KubeError(`GET ${path}: no answer within ${READ_MS / 1000} s`, {
        code: 0,
        reason: 'Unreachable',
        cause: error,
      });
    }
  }

  function readIndex(): Promise<Index> {
    if (index !== undefined && Date.now() - index.at < INDEX_FRESH_MS) return index.read;
    const read = get<Index>('/openapi/v3');
    const current = { at: Date.now(), read };
    index = current;
    read.catch(() => {
      if (index === current) index = undefined;
    });
    return read;
  }

  return {
    async of(apiVersion) {
      const name = apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
      let path: string | undefined;
      try {
        path = (await readIndex()).paths[name]?.serverRelativeURL;
      } catch (error) {
        // Servers before 1.24 have none.
        if (error instanceof KubeError && error.code === 404) return undefined;
        throw error;
      }
      if (path === undefined) return undefined;
      const known = documents.get(path);
      if (known !== undefined) return known;
      const read = get<{ components?: { schemas?: Record<string, unknown> } }>(path).then(({ components }) =>
        make(components?.schemas ?? {}, apiVersion),
      );
      documents.set(path, read);
      read.catch(() => documents.delete(path));
      const [oldest] = documents.keys();
      if (documents.size > MAX_KEPT && oldest !== undefined) documents.delete(oldest);
      return read;
    },
  };
}
