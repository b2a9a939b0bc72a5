import { expect, it } from 'vitest';
import { KubeError } from '../../../../kube/error.js';
import { programsOfCluster, programsOfTemporal } from './programs.js';

const deployment = (component: string, image: string, version?: string) => ({
  metadata: {
    name: `drover-${component}`,
    namespace: 'drover-system',
    labels: {
      'app.kubernetes.io/component': component,
      ...(version !== undefined && { 'app.kubernetes.io/version': version }),
    },
  },
  spec: { replicas: 2, template: { spec: { containers: [{ image }] } } },
});
const listing = (items: unknown[]) => ({ list: () => Promise.resolve({ items, metadata: {} }) }) as never;

it('tells versions by tags of images, else by labels', async () => {
  const found = await programsOfCluster(
    listing([
      deployment('bridge', 'registry:5000/drover:0.2.1', '0.1.0'),
      deployment('worker', 'drover@sha256:00', '0.1.0'),
      deployment('other', 'drover:9.9.9'),
    ]),
  );
  expect(found).toEqual([
    { program: 'bridge', where: 'Deployment drover-system/drover-bridge', version: '0.2.1', processes: 2 },
    { program: 'worker', where: 'Deployment drover-system/drover-worker', version: '0.1.0', processes: 2 },
  ]);
});

it('goes without Deployments that may not be listed, and tells versions by builds', async () => {
  const forbidden = new KubeError('no', { code: 403, reason: 'Forbidden' });
  expect(await programsOfCluster({ list: () => Promise.reject(forbidden) })).toBeUndefined();
  const away = new KubeError('no', { code: 0, reason: 'Unreachable' });
  await expect(programsOfCluster({ list: () => Promise.reject(away) })).rejects.toThrow(away);
  const lastSeen = new Date(0);
  const poller = { program: 'worker', isPinning: true, processes: 1, lastSeen } as const;
  const builds = ['0.1.0-3f9a60c2b7d1', 'blue', '0.1.0'].map((build) => ({ ...poller, build }));
  expect(programsOfTemporal(builds).map(({ version }) => version)).toEqual(['0.1.0', undefined, '0.1.0']);
});
