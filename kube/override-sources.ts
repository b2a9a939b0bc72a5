/** What Clusternet keeps in the parent about one feed: its Manifest, and the overrides that change it. */
import type { KubeClient } from './client.js';
import { KubeError } from './error.js';
import type { KubeObject } from './object.js';

/** Namespace in which Clusternet keeps the objects that feeds name. */
const MANIFESTS = 'clusternet-reserved';

const APPS = 'apps.clusternet.io/v1alpha1';
const CONFIG = 'apps.clusternet.io/config';

/** What to read. */
export interface OverrideQuery {
  kind: 'Localization' | 'Globalization';
  /** Namespace of a Localization. */
  namespace?: string | undefined;
  feed: Record<string, unknown>;
  /** Whether the Manifest of the feed matters. */
  target: boolean;
}

/** What was found. Overrides of other feeds are among them. */
export interface FoundOverrides {
  target?: { name: string; document: unknown };
  local: KubeObject[];
  global: KubeObject[];
}

/**
 * Reads what is needed to judge an override.
 *
 * @throws KubeError also where the kinds are not there
 */
export async function readOverrideSources(
  kube: KubeClient,
  query: OverrideQuery,
  options: { signal: AbortSignal },
): Promise<FoundOverrides> {
  const { signal } = options;
  const list = async (kind: OverrideQuery['kind'], namespace?: string): Promise<KubeObject[]> => {
    const scope = { signal, ...(namespace !== undefined && { namespace }) };
    const { items } = await kube.list({ apiVersion: APPS, kind }, scope).catch((error: unknown) => {
      if (error instanceof KubeError && error.reason === 'KindNotFound') return { items: [] };
      throw error;
    });
    return items;
  };
  const [local, global, manifest] = await Promise.all([
    query.kind === 'Localization' ? list('Localization', query.namespace) : [],
    list('Globalization'),
    query.target ? findManifest(kube, query.feed, signal) : undefined,
  ]);
  return {
    local,
    global,
    ...(manifest !== undefined && {
      target: { name: `Manifest ${MANIFESTS}/${manifest.metadata.name}`, document: manifest.template },
    }),
  };
}

async function findManifest(
  kube: KubeClient,
  feed: Record<string, unknown>,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const apiVersion = textOf(feed.apiVersion);
  const slash = apiVersion.indexOf('/');
  const labels = {
    group: slash < 0 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    kind: textOf(feed.kind),
    name: textOf(feed.name),
    ...(textOf(feed.namespace) !== '' && { namespace: textOf(feed.namespace) }),
  };
  const labelSelector = Object.entries(labels)
    .map(([key, value]) => `${CONFIG}.${key}=${value}`)
    .join(',');
  const { items } = await kube.list(
    { apiVersion: APPS, kind: 'Manifest' },
    { namespace: MANIFESTS, labelSelector, limit: 1, signal },
  );
  return items[0];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
