import { expect, it } from 'vitest';
import { buildOf } from './run-build.js';

const version = { deploymentName: 'd', buildId: 'one' };
const of = (versioningInfo: object | null, more: object = {}) =>
  buildOf({
    workflowExecutionInfo: { versioningInfo, ...more },
  });

it('is the one that the workflow is pinned or was moved to, or that has carried it on', () => {
  expect(of({ behavior: 1, deploymentVersion: version })).toEqual({ ...version, isPinned: true });
  expect(of({ behavior: 0, deploymentVersion: version })).toEqual({ ...version, isPinned: false });
  const two = { deploymentName: 'd', buildId: 'two' };
  const moved = { pinned: { version: two } };
  expect(of({ behavior: 1, deploymentVersion: version, versioningOverride: moved })).toEqual({
    ...two,
    isPinned: true,
  });
  const free = { autoUpgrade: true };
  expect(of({ behavior: 1, deploymentVersion: version, versioningOverride: free })?.isPinned).toBe(false);
  const unpinned = { mostRecentWorkerVersionStamp: { buildId: 'one' }, workerDeploymentName: 'd' };
  expect(of(null, unpinned)).toEqual({ ...version, isPinned: false });
  // A release that named no build.
  expect(of(null, { mostRecentWorkerVersionStamp: { buildId: '@temporalio/worker@1' } })).toBeUndefined();
  expect(of(null)).toBeUndefined();
  expect(of({ behavior: 0 })).toBeUndefined();
});
