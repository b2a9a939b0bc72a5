import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Build } from './build.js';

/** Time between two tries: Temporal knows a build a moment after its workers have asked for tasks. */
const AGAIN_MS = 1_000;
/** After this many tries without success the log says so. */
const QUIET_TRIES = 10;

type Service = Pick<
  Client['workflowService'],
  'describeWorkerDeployment' | 'setWorkerDeploymentCurrentVersion'
>;

/**
 * Lets a build that has never begun runs begin them from now on, in place of the one before. A build that did so earlier is
 * left as it is: it was replaced, or an operator has chosen another one. So workers may be started again in any order.
 *
 * @param options.signal ends the tries
 */
export async function becomeCurrent(
  service: Service,
  { deploymentName, buildId }: Build,
  options: { namespace: string; identity: string; log: Logger; signal: AbortSignal },
): Promise<void> {
  const { namespace, identity, log, signal } = options;
  const build = { deployment: deploymentName, build: buildId };

  /** @returns whether there is nothing left to do */
  async function attempt(): Promise<boolean> {
    const { workerDeploymentInfo: known, conflictToken } = await service.describeWorkerDeployment({
      namespace,
      deploymentName,
    });
    const own = known?.versionSummaries?.find(
      ({ deploymentVersion }) => deploymentVersion?.buildId === buildId,
    );
    if (own === undefined) return false;
    const current = known?.routingConfig?.currentDeploymentVersion?.buildId ?? undefined;
    if (current === buildId) return true;
    // Which of these a server tells depends on its release.
    if (own.lastCurrentTime ?? own.firstActivationTime ?? own.lastDeactivationTime) {
      log.info(
        { ...build, current },
        'another build begins runs now; this one carries on those that it has begun',
      );
      return true;
    }
    // Another build that starts at the same moment has changed the token: then all is looked at anew.
    await service.setWorkerDeploymentCurrentVersion({
      namespace,
      deploymentName,
      buildId,
      conflictToken,
      identity,
    });
    log.info({ ...build, before: current }, 'this build begins runs from now on');
    return true;
  }

  for (let tries = 1; !signal.aborted; tries += 1) {
    try {
      if (await attempt()) return;
      if (tries === QUIET_TRIES) log.warn(build, 'Temporal does not know this build yet; trying again');
    } catch (error) {
      if (!isGrpcServiceError(error)) throw error;
      if (tries === QUIET_TRIES)
        log.warn({ ...build, err: error }, 'this build cannot begin runs yet; trying again');
    }
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}
