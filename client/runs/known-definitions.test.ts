import { expect, it } from 'vitest';
import type { Shape } from '../../api/core/shape.js';
import type { DRWorkflow } from '../../api/plan/types.js';
import { KubeError } from '../../kube/error.js';
import { problemsByDefinitions } from './known-definitions.js';

const manifest = (apiVersion: string) =>
  `{apiVersion: ${apiVersion}, kind: Thing, metadata: {name: a}, typo: 1}`;
const workflow: DRWorkflow = {
  metadata: { name: 'w' },
  spec: {
    actions: ['known/v1', 'slow/v1', 'refused/v1'].map((apiVersion, index) => ({
      name: `a${index}`,
      type: 'KubernetesResource',
      resource: { operation: 'Apply', manifest: manifest(apiVersion) },
    })),
  },
};
const things = new Map<string, Shape>([['Thing', { type: 'map', fields: new Map() }]]);

it('[F7] says what is known in time; what is late or refused says nothing', async () => {
  const of = (apiVersion: string): Promise<Map<string, Shape>> => {
    if (apiVersion === 'known/v1') return Promise.resolve(things);
    if (apiVersion === 'slow/v1') return new Promise(() => undefined);
    return Promise.reject(new KubeError('forbidden', { code: 403, reason: 'Forbidden' }));
  };
  const found = await problemsByDefinitions(workflow, { of }, 20);
  expect(found.map(({ path, reason }) => `${path} ${reason}`)).toEqual([
    'spec.actions[0].resource.manifest UnknownField',
  ]);
});
