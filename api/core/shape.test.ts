import { expect, it } from 'vitest';
import { faultsIn, shapesIn } from './shape.js';

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const SCHEMAS = {
  'test.Thing': {
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'test.example', version: 'v1', kind: 'Thing' }],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { default: {}, allOf: [ref('test.Meta')] },
      spec: ref('test.Spec'),
    },
  },
  'test.Meta': {
    type: 'object',
    properties: {
      name: { type: 'string' },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  'test.Spec': {
    type: 'object',
    properties: {
      replicas: { type: 'integer' },
      paused: { type: 'boolean' },
      port: { oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' },
      percent: { type: 'string', 'x-kubernetes-int-or-string': true },
      items: { type: 'array', items: ref('test.Spec') },
      raw: { type: 'object' },
      open: {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        properties: { known: { type: 'string' } },
      },
    },
  },
  'test.Other': {
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'test.example', version: 'v2', kind: 'Thing' }],
  },
};
const shape = shapesIn(SCHEMAS, 'test.example/v1').get('Thing') ?? {};
const faults = (object: object, isStrategic = false) =>
  faultsIn(object, shape, { isOpen: (value) => value === 'SAMPLE', isStrategic }).map(
    (fault) => `${fault.kind} ${fault.path.join('.')}`,
  );

it('[F7] finds fields that a kind does not have, also in items of lists and in what holds itself', () => {
  expect(
    faults({
      apiVersion: 'x',
      dta: {},
      metadata: { label: {} },
      spec: { replica: 3, items: [{ replicas: 1 }, { items: [{ port: 1, prt: 2 }] }] },
    }),
  ).toEqual([
    'unknown dta',
    'unknown metadata.label',
    'unknown spec.replica',
    'unknown spec.items.1.items.0.prt',
  ]);
});

it('[F7] finds values of the wrong type', () => {
  expect(
    faults({
      metadata: { labels: { a: 1, b: 'x' } },
      spec: { replicas: '3', paused: 'yes', items: {}, open: { known: true, other: 1 }, raw: 'x' },
    }),
  ).toEqual([
    'type metadata.labels.a',
    'type spec.replicas',
    'type spec.paused',
    'type spec.items',
    'type spec.open.known',
    'type spec.raw',
  ]);
});

it('[F7] says nothing where several forms are allowed, of what is open, of nulls, and of values to come', () => {
  expect(
    faults({
      metadata: null,
      SAMPLE: 1,
      spec: { port: 'http', percent: 5, raw: { any: 1 }, open: { x: 1 }, replicas: 'SAMPLE', paused: null },
    }),
  ).toEqual([]);
  expect(faults({ spec: { items: [{ $patch: 'delete' }] } }, true)).toEqual([]);
  expect(faults({ spec: { items: [{ $patch: 'delete' }] } })).toHaveLength(1);
  expect(shapesIn(SCHEMAS, 'v1').size).toBe(0);
});
