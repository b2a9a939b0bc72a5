/** What goes into a backup, in the order in which it is read. */
import { API_VERSION, LABELS, PRIOR_STATE_TYPE } from '../../../../api/core/group.js';
import type { KindDescriptor } from '../../../../api/core/kind-descriptor.js';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { CLAIM_CONFIG_MAP } from '../../../../kube/claim-words.js';
import type { KubeClient, KubeList, ListOptions } from '../../../../kube/client.js';
import type { KubeObject } from '../../../../kube/object.js';
import { listPages } from '../../../../kube/pages.js';
import { withoutManagedFields } from '../../core/output.js';
import { ENTRIES } from './manifest.js';
import type { Manifest } from './manifest.js';

/** Objects that become an entry of the archive. */
export interface Chunk {
  sort: string;
  objects: KubeObject[];
}

/**
 * Reads all of it, page by page. Kinds come in the reverse order of their table: an execution before its plan, so that
 * a plan is never older than its executions and says rather too much than too little. What executions refer to comes last.
 *
 * @param options.namespace of the installation, whose claim is read
 * @param options.withSecrets whether prior state is read; the ring is not read here
 * @throws KubeError, 403 without the right to read something
 */
export async function* collect(
  kube: KubeClient,
  options: { kinds: readonly KindDescriptor[]; namespace: string; withSecrets: boolean },
): AsyncGenerator<Chunk> {
  for (const { group, version, kind, plural } of [...options.kinds].reverse())
    yield* pagesOf(kube, plural, { apiVersion: `${group}/${version}`, kind });
  const revisions = { apiVersion: 'apps/v1', kind: 'ControllerRevision' };
  yield* pagesOf(kube, ENTRIES.snapshots, revisions, { labelSelector: LABELS.snapshot });
  const claim = await kube.get<KubeObject>({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    namespace: options.namespace,
    name: CLAIM_CONFIG_MAP,
  });
  if (claim !== undefined) yield { sort: ENTRIES.claim, objects: [withoutManagedFields(claim)] };
  if (!options.withSecrets) return;
  const secrets = { apiVersion: 'v1', kind: 'Secret' };
  yield* pagesOf(kube, ENTRIES.priorState, secrets, { fieldSelector: `type=${PRIOR_STATE_TYPE}` });
}

async function* pagesOf(
  kube: KubeClient,
  sort: string,
  type: { apiVersion: string; kind: string },
  selection: Pick<ListOptions, 'labelSelector' | 'fieldSelector'> = {},
): AsyncGenerator<Chunk> {
  const pages: AsyncGenerator<KubeList<KubeObject>> = listPages(kube, type, selection);
  for await (const { items } of pages) {
    // What is being deleted is to be gone.
    const objects = items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((item) => withoutManagedFields({ ...type, ...item }));
    if (objects.length > 0) yield { sort, objects };
  }
}

/** What a backup tells of the runs that it has passed. */
export interface RunsSeen {
  live: Manifest['live'];
  namespaceIds: Set<string>;
  /** Name of the Temporal namespace that the newest status names. */
  namespace: string | undefined;
}

/** Notes the runs among objects that were read. */
export function noteRuns(seen: RunsSeen, { objects }: Chunk): void {
  for (const object of objects) {
    if (object.apiVersion !== API_VERSION || object.kind !== 'DRPlanExecution') continue;
    const { metadata, status } = object as unknown as DRPlanExecution;
    const { namespaceId, namespace, workflowId = null } = status?.temporal ?? {};
    if (namespaceId !== undefined) seen.namespaceIds.add(namespaceId);
    seen.namespace = namespace ?? seen.namespace;
    if (isTerminalExecution(status?.phase)) continue;
    const execution = `${metadata.namespace ?? ''}/${metadata.name}`;
    seen.live.push({ execution, phase: status?.phase ?? 'Pending', workflowId });
  }
}

/** Which definitions of our kinds a cluster has, and which versions of them it serves. */
export async function readDefinitions(
  kube: KubeClient,
  kinds: readonly KindDescriptor[],
): Promise<Manifest['definitions']> {
  const found = await Promise.all(
    kinds.map(({ plural, group }) =>
      kube.get<KubeObject & { spec?: { versions?: { name: string; served: boolean }[] } }>({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        name: `${plural}.${group}`,
      }),
    ),
  );
  return found.flatMap((definition) =>
    definition === undefined
      ? []
      : [
          {
            name: definition.metadata.name,
            versions: (definition.spec?.versions ?? [])
              .filter(({ served }) => served)
              .map(({ name }) => name),
          },
        ],
  );
}
