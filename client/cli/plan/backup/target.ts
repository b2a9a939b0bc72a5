/** The cluster that a backup is to be restored into: what is there, and whether it can take the objects. */
import type { KindDescriptor } from '../../../../api/core/kind-descriptor.js';
import { clusterId } from '../../../../api/plan/naming.js';
import type { KubeClient } from '../../../../kube/client.js';
import { readClusterUid } from '../../../../kube/cluster-id.js';
import { KubeError } from '../../../../kube/error.js';
import type { KubeObject } from '../../../../kube/object.js';
import { listPages } from '../../../../kube/pages.js';
import type { Archive } from './archive.js';

/** An archive beside the cluster. */
export interface Comparison {
  cluster: { uid: string; id: string };
  /** One for each kind that the archive has objects of, or the cluster. */
  rows: KindRow[];
  /** Namespaces of objects in the archive that the cluster lacks. */
  missingNamespaces: string[];
  /** Kinds of the archive that the cluster does not serve, in the version that the archive has. */
  missingKinds: string[];
}

/** One kind. */
export interface KindRow {
  kind: KindDescriptor;
  inArchive: number;
  /** Objects of the kind in the cluster, and how many of them have the name of one in the archive. */
  inCluster: number;
  both: number;
}

/**
 * Compares names; nothing else is read of the cluster's objects.
 *
 * @param options.onProgress called as objects are compared
 */
export async function compare(
  kube: KubeClient,
  archive: Archive,
  options: { kinds: readonly KindDescriptor[]; onProgress: (text: () => string) => void },
): Promise<Comparison> {
  const { kinds, onProgress } = options;
  const uid = await readClusterUid(kube);
  const namespaces = new Set<string>();
  const rows: KindRow[] = [];
  const missingKinds: string[] = [];
  for (const kind of kinds) {
    const there = await namesOf(kube, kind);
    if (there === undefined) {
      if (archive.count(kind.plural) > 0) missingKinds.push(`${kind.plural}.${kind.group}/${kind.version}`);
      continue;
    }
    let both = 0;
    let compared = 0;
    for await (const { metadata } of archive.objects(kind.plural)) {
      compared += 1;
      onProgress(() => `${kind.plural}: ${compared} of ${archive.count(kind.plural)} compared`);
      if (metadata.namespace !== undefined) namespaces.add(metadata.namespace);
      if (there.has(placeOf(metadata))) both += 1;
    }
    rows.push({ kind, inArchive: archive.count(kind.plural), inCluster: there.size, both });
  }
  const present = await Promise.all(
    [...namespaces].map(async (name) => ({
      name,
      there: (await kube.get({ apiVersion: 'v1', kind: 'Namespace', name })) !== undefined,
    })),
  );
  return {
    cluster: { uid, id: clusterId(uid) },
    rows: rows.filter(({ inArchive, inCluster }) => inArchive + inCluster > 0),
    missingNamespaces: present.flatMap(({ name, there }) => (there ? [] : [name])),
    missingKinds,
  };
}

const placeOf = ({ namespace = '', name }: { namespace?: string; name: string }): string =>
  `${namespace}/${name}`;

/** Undefined where the cluster does not serve the kind. */
async function namesOf(
  kube: KubeClient,
  { group, version, kind }: KindDescriptor,
): Promise<Set<string> | undefined> {
  const names = new Set<string>();
  try {
    const pages = listPages<KubeObject>(
      kube,
      { apiVersion: `${group}/${version}`, kind },
      { metadataOnly: true },
    );
    for await (const { items } of pages) for (const { metadata } of items) names.add(placeOf(metadata));
  } catch (error) {
    if (error instanceof KubeError && (error.reason === 'KindNotFound' || error.code === 404))
      return undefined;
    throw error;
  }
  return names;
}
