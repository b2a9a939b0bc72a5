/** Open runs of other clusters in the Temporal namespace of this one: nobody here sweeps them, or carries them on. */
import { clusterId } from '../../../api/plan/naming.js';
import type { Runs } from '../../runs/runs.js';
import { WORKFLOW_TYPES } from '../../../workflows/plan/contract.js';

/** Runs of one other cluster. */
export interface OtherRuns {
  /** First eight characters of its kube-system uid. */
  cluster: string;
  workflowIds: string[];
}

const ID = /^dr\/([^/]+)\/[^/]+\/[^/]+\/[0-9a-f]{8}$/;

/** Looks for them; by cluster, in order. */
export async function findOtherRuns(runs: Pick<Runs, 'listOpen'>, ownUid: string): Promise<OtherRuns[]> {
  const own = clusterId(ownUid);
  const found = new Map<string, string[]>();
  for await (const { workflowId } of runs.listOpen({
    workflowType: WORKFLOW_TYPES.execution,
    idPrefix: 'dr/',
  })) {
    const cluster = ID.exec(workflowId)?.[1];
    if (cluster === undefined || cluster === own) continue;
    found.set(cluster, [...(found.get(cluster) ?? []), workflowId]);
  }
  return [...found]
    .map(([cluster, workflowIds]) => ({ cluster, workflowIds: workflowIds.sort() }))
    .sort((a, b) => a.cluster.localeCompare(b.cluster));
}

/** How to end the runs of a cluster that is gone. */
export const endOtherRuns = (cluster: string, namespace: string): string =>
  `temporal workflow terminate --namespace ${namespace} --query 'WorkflowId STARTS_WITH "dr/${cluster}/"' --reason "cluster ${cluster} is gone"`;
