import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/object.js';
import { driftOf } from './drift.js';

const object = (more: Record<string, unknown>, metadata: Record<string, unknown> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: 'a', ...metadata },
  ...more,
});

describe('drift', () => {
  it('names places that differ, without their values', () => {
    const deployed = object({ data: { mode: 'active', secret: 'x' }, spec: { list: [{ image: 'a:2' }] } });
    const live = object({ data: { mode: 'standby', secret: 'x' }, spec: { list: [{ image: 'a:1' }] } });
    expect(driftOf(deployed, live)).toEqual(['data.mode', 'spec.list[0].image']);
  });

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['defaults', { spec: { ports: [{ port: 80 }] } }, { spec: { ports: [{ port: 80, protocol: 'TCP' }] } }],
    ['quantities', { spec: { cpu: '1000m', memory: '1024Mi' } }, { spec: { cpu: '1', memory: '1Gi' } }],
    ['numbers as text', { spec: { port: '80' } }, { spec: { port: 80 } }],
    ['what is empty', { spec: { a: false, b: 0, c: '', d: {}, e: [], f: null } }, { spec: { d: { x: 1 } } }],
    ['status', { status: { phase: 'New' } }, { status: { phase: 'Done' } }],
  ])('sees no difference in %s', (_name, deployed, live) => {
    expect(driftOf(object(deployed), object(live))).toEqual([]);
  });

  it('compares labels, not annotations', () => {
    const deployed = object({}, { labels: { app: 'web' }, annotations: { a: '1' } });
    expect(driftOf(deployed, object({}, { labels: { app: 'web', more: 'x' } }))).toEqual([]);
    expect(driftOf(deployed, object({}, { labels: { app: 'db' } }))).toEqual(['metadata.labels.app']);
  });

  it('compares stringData of a Secret with its data', () => {
    const secret = (more: Record<string, unknown>): KubeObject => ({ ...object(more), kind: 'Secret' });
    const stored = { data: { key: Buffer.from('text').toString('base64') } };
    expect(driftOf(secret({ stringData: { key: 'text' } }), secret(stored))).toEqual([]);
    expect(driftOf(secret({ stringData: { key: 'other' } }), secret(stored))).toEqual(['data.key']);
  });

  it('sees what was switched on or scaled although it was deployed off', () => {
    const live = object({ spec: { suspend: true, replicas: 2 } });
    expect(driftOf(object({ spec: { suspend: false, replicas: 0 } }), live)).toEqual([
      'spec.suspend',
      'spec.replicas',
    ]);
  });

  it('sees a list that got longer or shorter', () => {
    expect(driftOf(object({ spec: { l: [1] } }), object({ spec: { l: [1, 2] } }))).toEqual(['spec.l']);
  });
});
