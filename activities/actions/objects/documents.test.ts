import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/object.js';
import { readManifest } from './documents.js';
import { recordedFields } from './managed-fields.js';
import { isMarkedBy, withMarks, withoutMarks } from '../../core/marks.js';
import { replacement } from './object-body.js';
import { recordable } from './object-capture.js';
import { planObjectRestore, recreatable } from './object-undo.js';

const scope = { params: {}, planName: 'p', executionName: 'e', operation: 'Execute', outputs: {} };
const configMap = (fields: Record<string, unknown>, metadata: Record<string, unknown> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'n', ...metadata },
  ...fields,
});
const marker = (round: number) => ({
  key: `uid/s0/w0/a1/forward/${round}`,
  task: { run: { uid: 'uid' }, at: { stage: 0, workflow: 0, action: 1 } },
});

describe('readManifest', () => {
  it('reads several documents and the items of a List', () => {
    const item = JSON.stringify(configMap({}));
    const manifest = `${item}\n---\n---\n{apiVersion: v1, kind: List, items: [${item}, ${item}]}`;
    expect(readManifest(manifest, scope)).toMatchObject({ ok: true, objects: { length: 3 } });
  });
  it.each([
    ['kind: ConfigMap', 'apiVersion is missing'],
    ['apiVersion: v1\nkind: ConfigMap', 'metadata is missing'],
    ['apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: x-}', 'generateName is not enough'],
    ['- 1', 'not an object'],
    ['apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 5}', 'metadata.name'],
  ])('refuses %j', (manifest, message) => {
    const result = readManifest(manifest, scope);
    expect(result).toMatchObject({ ok: false, reason: 'InvalidManifest' });
    expect(result.ok ? '' : result.message).toContain(message);
  });
});

describe('marks', () => {
  it('are recognised in any round of the same action only, and come off again', () => {
    const plain = configMap({}, { labels: { a: '1' } });
    const marked = withMarks(plain, marker(0) as never);
    expect(isMarkedBy(marked, marker(3).key)).toBe(true);
    expect(isMarkedBy(marked, 'uid/s0/w0/a10/forward/0')).toBe(false);
    expect(isMarkedBy(marked, 'uid/s0/w0/a1/undo/0')).toBe(false);
    expect(isMarkedBy(plain, marker(0).key)).toBe(false);
    expect(withoutMarks(marked)).toEqual(plain);
  });
});

describe('planObjectRestore', () => {
  const prior = (operation: string, object: KubeObject, intent: KubeObject) => ({
    key: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name: 'c' },
    operation,
    object,
    intent,
  });
  it('takes the marks off with the values, on exactly the state that was read', () => {
    const before = configMap({ data: { a: '1' } }, { uid: 'u', resourceVersion: '1' });
    const written = configMap({ data: { a: '2' } });
    const now = withMarks({ ...before, data: { a: '2' } }, marker(0) as never);
    now.metadata.resourceVersion = '9';
    const plan = planObjectRestore(
      prior('Patch', before, written),
      { key: {} as never, object: now },
      now,
      marker(0).key,
    );
    expect(plan).toEqual({
      kind: 'patch',
      type: 'merge',
      patch: {
        data: { a: '1' },
        metadata: { resourceVersion: '9', uid: 'u', labels: null, annotations: null },
      },
    });
  });
  it("leaves another action's marks in place", () => {
    const before = configMap({ data: { a: '1' } });
    const now = {
      ...withMarks(before, { ...marker(0), key: 'other/s0/w0/a1/forward/0' } as never),
      data: { a: '2' },
    };
    const plan = planObjectRestore(
      prior('Patch', before, now),
      { key: {} as never, object: now },
      now,
      marker(0).key,
    );
    expect(plan.kind === 'patch' ? plan.patch : plan).not.toHaveProperty('metadata.annotations');
  });
});

describe('bodies that the server must accept', () => {
  it('keeps what is assigned once on a PUT', () => {
    const current = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's', uid: 'u', resourceVersion: '4', finalizers: ['f'] },
      spec: { clusterIP: '10.0.0.1', type: 'ClusterIP' },
    };
    const next = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec: { ports: [] } };
    expect(replacement(next, current)).toEqual({
      ...next,
      metadata: { name: 's', uid: 'u', resourceVersion: '4', finalizers: ['f'] },
      spec: { clusterIP: '10.0.0.1', ports: [] },
    });
  });
  it('drops what a Job got from its controller', () => {
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j', uid: 'u' },
      status: {},
      spec: {
        selector: {},
        template: {
          metadata: { labels: { app: 'x', 'batch.kubernetes.io/controller-uid': 'u', 'job-name': 'j' } },
          spec: {},
        },
      },
    };
    expect(recreatable(job)).toEqual({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j' },
      spec: { template: { metadata: { labels: { app: 'x' } }, spec: {} } },
    });
  });
  it('reads the fields of our own apply, lists as one', () => {
    const fieldsV1 = {
      'f:spec': { 'f:replicas': {}, 'f:containers': { 'k:{"name":"a"}': { 'f:image': {} } } },
    };
    const entry = { manager: 'drover/p/a/0123456789ab', operation: 'Apply', fieldsV1 };
    const kept = recordable(
      configMap({}, { managedFields: [{ ...entry, manager: 'drover' }, entry] }),
      entry.manager,
    );
    expect(kept.metadata.managedFields).toEqual([entry]);
    expect(recordedFields(kept)).toEqual({ spec: { replicas: true, containers: true } });
  });
});
