/** How the workers of a process are called among the builds that poll the same task queues. */
import type { WorkerOptions } from '@temporalio/worker';
import { buildName } from '../runtime/build-name.js';
import { packageVersion } from '../runtime/package-version.js';

/** The build of a worker. */
export interface Build {
  /** Temporal's Worker Deployment that it belongs to: all builds of the workers of one cluster. */
  deploymentName: string;
  buildId: string;
  /** Whether a run that it begins is carried on by this build alone. */
  pinsRuns: boolean;
}

/**
 * Names a build.
 *
 * @param options.cluster first eight characters of the kube-system namespace's uid
 * @param options.bundle the workflow code: whether a run can be carried on depends on it alone
 */
export function buildOf(options: {
  cluster: string;
  bundle: string;
  buildId?: string | undefined;
  deploymentName?: string | undefined;
  pinsRuns: boolean;
}): Build {
  const { cluster, bundle, buildId, deploymentName, pinsRuns } = options;
  return {
    deploymentName: deploymentName ?? `drover-${cluster}`,
    buildId: buildId ?? buildName(packageVersion(), bundle),
    pinsRuns,
  };
}

/** What workers tell Temporal of their build. Without pinning it is shown, and decides nothing. */
export function deploymentOptions({
  deploymentName,
  buildId,
  pinsRuns,
}: Build): Required<Pick<WorkerOptions, 'workerDeploymentOptions'>> {
  const version = { deploymentName, buildId };
  return {
    workerDeploymentOptions: pinsRuns
      ? { version, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' }
      : { version, useWorkerVersioning: false },
  };
}
