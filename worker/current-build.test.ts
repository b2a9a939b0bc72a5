import { pino } from 'pino';
import { expect, it } from 'vitest';
import { becomeCurrent } from './current-build.js';

type Service = Parameters<typeof becomeCurrent>[0];

const build = { deploymentName: 'drover-c', buildId: 'new', pinsRuns: true };

/** Temporal with these builds of the deployment; `wasCurrent`: they have begun runs at some time. */
async function after(
  builds: { buildId: string; wasCurrent: boolean }[],
  current?: string,
): Promise<string[]> {
  const set: string[] = [];
  const service = {
    describeWorkerDeployment: () =>
      Promise.resolve({
        conflictToken: new Uint8Array([1]),
        workerDeploymentInfo: {
          versionSummaries: builds.map(({ buildId, wasCurrent }) => ({
            deploymentVersion: { deploymentName: 'drover-c', buildId },
            ...(wasCurrent && { lastCurrentTime: { seconds: 1 } }),
          })),
          routingConfig: { currentDeploymentVersion: current === undefined ? null : { buildId: current } },
        },
      }),
    setWorkerDeploymentCurrentVersion: ({ buildId }: { buildId: string }) => {
      set.push(buildId);
      return Promise.resolve({});
    },
  } as unknown as Service;
  const { signal } = new AbortController();
  const log = pino({ level: 'silent' });
  await becomeCurrent(service, build, { namespace: 'default', identity: 'test', log, signal });
  return set;
}

it('a build that has never begun runs begins them from now on', async () => {
  expect(await after([{ buildId: 'new', wasCurrent: false }])).toEqual(['new']);
  const old = { buildId: 'old', wasCurrent: true };
  expect(await after([old, { buildId: 'new', wasCurrent: false }], 'old')).toEqual(['new']);
});

it('one that was replaced, or does so already, is left as it is', async () => {
  const both = ['old', 'new'].map((buildId) => ({ buildId, wasCurrent: true }));
  expect(await after(both, 'old')).toEqual([]);
  expect(await after(both, 'new')).toEqual([]);
  // An operator has given runs back to workers without a build.
  expect(await after(both)).toEqual([]);
});
