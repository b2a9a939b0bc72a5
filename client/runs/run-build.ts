import type { WorkflowExecutionDescription } from '@temporalio/client';

/** The build of workers that has carried a workflow on so far. */
export interface RunBuild {
  deploymentName: string;
  buildId: string;
  /** Whether no other build may carry it on. */
  isPinned: boolean;
}

/** VERSIONING_BEHAVIOR_PINNED */
const PINNED = 1;

/** The build of a workflow; undefined where its workers have named none, or none has taken a task of it. */
export function buildOf({
  workflowExecutionInfo,
}: WorkflowExecutionDescription['raw']): RunBuild | undefined {
  const { versioningInfo, mostRecentWorkerVersionStamp, workerDeploymentName } = workflowExecutionInfo ?? {};
  const moved = versioningInfo?.versioningOverride ?? undefined;
  const own = versioningInfo?.deploymentVersion;
  // Temporal keeps the build of workers that pin nothing elsewhere.
  const buildId = moved?.pinned?.version?.buildId ?? own?.buildId ?? mostRecentWorkerVersionStamp?.buildId;
  const deploymentName =
    moved?.pinned?.version?.deploymentName ?? own?.deploymentName ?? workerDeploymentName;
  if (!buildId || !deploymentName) return undefined;
  const isPinned = moved === undefined ? Number(versioningInfo?.behavior) === PINNED : Boolean(moved.pinned);
  return { deploymentName, buildId, isPinned };
}
