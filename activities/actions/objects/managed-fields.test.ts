import { expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/object.js';
import { describeTaken, takenAway } from './managed-fields.js';

const OWN = 'drover/p/a/0123456789ab';
const container = (fields: object) => ({ 'k:{"name":"web"}': { '.': {}, 'f:name': {}, ...fields } });
const object = (spec: object, owned: object | undefined): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'd',
    labels: { a: '1' },
    managedFields: [
      { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:spec': { 'f:paused': {} } } },
      ...(owned === undefined
        ? []
        : [{ manager: OWN, operation: 'Apply', fieldsV1: owned as Record<string, unknown> }]),
    ],
  },
  spec,
});

it('[F5] names what an apply took away, and what came in its place', () => {
  const before = object(
    { replicas: 0, containers: [{ name: 'web', env: [{ name: 'A' }], image: 'x' }], keys: ['x', 'y'] },
    {
      'f:metadata': { 'f:labels': { 'f:app.kubernetes.io/name': {} } },
      'f:spec': {
        'f:replicas': {},
        'f:containers': container({ 'f:image': {}, 'f:env': { 'k:{"name":"A"}': { 'f:name': {} } } }),
        'f:keys': { 'v:"x"': {} },
      },
    },
  );
  before.metadata.labels = { 'app.kubernetes.io/name': 'shop' };
  const after = object(
    { replicas: 1, containers: [{ name: 'web', image: 'x' }], keys: ['y'] },
    { 'f:spec': { 'f:containers': container({ 'f:image': {} }) } },
  );
  const taken = takenAway(before, after, OWN);
  expect(taken).toEqual([
    { path: 'metadata.labels["app.kubernetes.io/name"]', now: undefined },
    { path: 'spec.replicas', now: 1 },
    { path: 'spec.containers[name="web"].env', now: undefined },
    { path: 'spec.keys["x"]', now: undefined },
  ]);
  expect(describeTaken(taken)).toContain('spec.replicas (now 1)');
});

it('[F5] does not name what somebody else owns too, which stays', () => {
  const before = object({ replicas: 3 }, { 'f:spec': { 'f:replicas': {} } });
  expect(takenAway(before, object({ replicas: 3 }, undefined), OWN)).toEqual([]);
  expect(takenAway(undefined, before, OWN)).toEqual([]);
  expect(takenAway(before, object({}, undefined), 'drover')).toEqual([]);
});

it('shows no texts, which may be secret', () => {
  expect(describeTaken([{ path: 'data.password', now: 'hunter2' }])).toBe('data.password');
});
