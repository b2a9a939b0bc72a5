/** What the revert of a restored execution lacks. */
import { ANNOTATIONS, LABELS } from '../../../../api/core/group.js';
import type { ActionStatus, DRPlanExecution } from '../../../../api/plan/types.js';
import type { KubeClient } from '../../../../kube/client.js';
import { KubeError } from '../../../../kube/error.js';

/** Where a restored execution has run, and what is missing for its undo, in one sentence. */
export interface RestoredFrom {
  /** Id of the cluster. */
  cluster: string;
  missing?: string;
}

const MAX_NAMED = 3;

/**
 * Looks whether an execution is a restored copy, and whether what its actions have kept was restored with it.
 *
 * @returns undefined where it has run in this cluster itself
 */
export async function restoredFrom(
  kube: KubeClient,
  { metadata, status }: DRPlanExecution,
): Promise<RestoredFrom | undefined> {
  const stamp = metadata.annotations?.[ANNOTATIONS.stamp];
  const [, cluster] = /^dr\/([^/]+)\//.exec(status?.temporal?.workflowId ?? '') ?? [];
  if (cluster === undefined || stamp === undefined || stamp === metadata.uid) return undefined;
  const kept = new Set(priorSecretsOf(status));
  const there = await secretsOf(kube, metadata.namespace, stamp);
  const missing = there === undefined ? [] : [...kept].filter((name) => !there.has(name));
  if (missing.length === 0) return { cluster };
  const named = missing.slice(0, MAX_NAMED).join(', ');
  const more = missing.length > MAX_NAMED ? ` and ${missing.length - MAX_NAMED} more` : '';
  return {
    cluster,
    missing: `what ${missing.length} of its actions have changed cannot be put back, PriorStateMissing: the backup was restored without Secrets ${named}${more}; restore an archive that has them with --merge first`,
  };
}

function priorSecretsOf(status: DRPlanExecution['status']): string[] {
  const actions: ActionStatus[] = (status?.stageStatuses ?? []).flatMap(({ workflowExecutions = [] }) =>
    workflowExecutions.flatMap(({ actionStatuses = [] }) => actionStatuses),
  );
  return actions
    .flatMap(({ outputs, clusterStatuses = [] }) => [
      outputs?.priorRef,
      ...clusterStatuses.map(({ priorRef }) => priorRef),
    ])
    .flatMap((ref) => (ref === undefined || /^(-|$)/.test(ref.name) ? [] : [ref.name]));
}

/** Names of Secrets that belong to the execution; undefined where they may not be listed. */
async function secretsOf(
  kube: KubeClient,
  namespace: string | undefined,
  stamp: string,
): Promise<Set<string> | undefined> {
  try {
    const { items } = await kube.list(
      { apiVersion: 'v1', kind: 'Secret' },
      {
        labelSelector: `${LABELS.execution}=${stamp}`,
        metadataOnly: true,
        ...(namespace !== undefined && { namespace }),
      },
    );
    return new Set(items.map(({ metadata }) => metadata.name));
  } catch (error) {
    if (error instanceof KubeError && error.code === 403) return undefined;
    throw error;
  }
}
