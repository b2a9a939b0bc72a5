import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { buildOf, deploymentOptions } from './build.js';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

it('is named after the version and the workflow code, unless it is told its name', () => {
  const one = buildOf({ cluster: 'c0ffee00', bundle: 'one', pinsRuns: false });
  expect(one).toEqual({
    deploymentName: 'drover-c0ffee00',
    buildId: expect.stringMatching(new RegExp(`^${version}-[0-9a-f]{12}$`)) as string,
    pinsRuns: false,
  });
  expect(buildOf({ cluster: 'c0ffee00', bundle: 'one', pinsRuns: false })).toEqual(one);
  expect(buildOf({ cluster: 'c0ffee00', bundle: 'two', pinsRuns: false }).buildId).not.toBe(one.buildId);
  const told = { cluster: 'c', bundle: 'one', buildId: 'blue', deploymentName: 'workers', pinsRuns: true };
  expect(buildOf(told)).toEqual({ deploymentName: 'workers', buildId: 'blue', pinsRuns: true });
});

it('pins runs only where it is asked to [S6.22]', () => {
  const build = buildOf({ cluster: 'c', bundle: '', buildId: 'b', pinsRuns: false });
  const version = { deploymentName: 'drover-c', buildId: 'b' };
  expect(deploymentOptions(build)).toEqual({
    workerDeploymentOptions: { version, useWorkerVersioning: false },
  });
  expect(deploymentOptions({ ...build, pinsRuns: true })).toEqual({
    workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: 'PINNED' },
  });
});
