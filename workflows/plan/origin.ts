import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { sha256 } from '../../api/core/sha256.js';
import type { RunIdentity, RunInput } from './contract.js';
import { digestText } from './run-digest.js';

/** Type of the failure of a workflow that nobody vouches for. */
const NOT_SEALED = 'NotSealed';

/**
 * Ends a run at once that is not the one it claims to be: its workflow id is another, or its input was changed. Its
 * claim is sealed, and every activity verifies the seal; here the claim is compared with what Temporal has started.
 *
 * @throws ApplicationFailure `NotSealed`. Runs that a release without seals began claim nothing, and pass
 */
export function checkRunOrigin(input: RunInput): void {
  const { workflowId, inputDigest } = input.run;
  if (workflowId !== undefined && workflowId !== workflowInfo().workflowId) {
    throw notSealed(`this is not workflow "${workflowId}", for which the bridge has sealed what it is to do`);
  }
  if (inputDigest !== undefined && inputDigest !== sha256(digestText(input))) {
    throw notSealed('its input is not the one that the bridge has sealed');
  }
}

/**
 * Ends a stage, or its rollback, at once if its parent is not the run that it claims to be part of: somebody else has
 * started it.
 *
 * @param idOf the workflow id that it has as a child of its run
 * @throws ApplicationFailure `NotSealed`
 */
export function checkChildOrigin(run: RunIdentity, idOf: (runId: string) => string): void {
  const { workflowId, namespace, parent } = workflowInfo();
  const isOwn =
    parent !== undefined &&
    parent.namespace === namespace &&
    parent.workflowId === (run.workflowId ?? parent.workflowId) &&
    idOf(parent.workflowId) === workflowId;
  if (!isOwn) throw notSealed('it was not started by its run');
}

/** The failure of a workflow that is not what it claims to be. */
export const notSealed = (why: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(
    `${why}: nothing was done; look who may start workflows in this namespace of Temporal`,
    NOT_SEALED,
  );
