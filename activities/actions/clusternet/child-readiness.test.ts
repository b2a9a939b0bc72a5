import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/object.js';
import { readinessOf } from './child-readiness.js';

const make =
  (apiVersion: string, kind: string) =>
  (spec: object, status: object, generation = 2): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name: 'a', generation },
    spec,
    status,
  });
const deployment = make('apps/v1', 'Deployment');
const statefulSet = make('apps/v1', 'StatefulSet');
const daemonSet = make('apps/v1', 'DaemonSet');
const job = make('batch/v1', 'Job');
const pod = make('v1', 'Pod');
const service = make('v1', 'Service');
const custom = make('example.com/v1', 'Database');

const full = {
  observedGeneration: 2,
  replicas: 3,
  updatedReplicas: 3,
  availableReplicas: 3,
  readyReplicas: 3,
};
const condition = (type: string, status: string, reason = '') => ({ conditions: [{ type, status, reason }] });

describe('readiness', () => {
  it.each<[string, KubeObject]>([
    ['a Deployment that is rolled out', deployment({ replicas: 3 }, full)],
    ['a Deployment of no replicas', deployment({ replicas: 0 }, { observedGeneration: 2 })],
    [
      'a StatefulSet with a partition',
      statefulSet(
        { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } },
        { ...full, updatedReplicas: 1 },
      ),
    ],
    [
      'a StatefulSet that is updated by hand',
      statefulSet({ replicas: 3, updateStrategy: { type: 'OnDelete' } }, { ...full, updatedReplicas: 0 }),
    ],
    ['a DaemonSet without nodes', daemonSet({}, { observedGeneration: 2, desiredNumberScheduled: 0 })],
    ['a Job that is complete', job({}, condition('Complete', 'True'))],
    ['a Pod that has succeeded', pod({}, { phase: 'Succeeded' })],
    ['a Service inside the cluster', service({ type: 'ClusterIP' }, {})],
    ['a ConfigMap', make('v1', 'ConfigMap')({}, {})],
    ['a kind without conditions', custom({}, { observedGeneration: 2 })],
  ])('%s is ready', (_name, object) => {
    expect(readinessOf(object)).toEqual({ kind: 'ready' });
  });

  it.each<[string, KubeObject, string]>([
    ['whose controller has not seen it', deployment({ replicas: 3 }, {}), 'generation 2'],
    [
      'whose status is older',
      deployment({ replicas: 3 }, { ...full, observedGeneration: 1 }),
      'generation 2',
    ],
    ['in the middle of a rollout', deployment({ replicas: 3 }, { ...full, updatedReplicas: 1 }), '1 of 3'],
    ['with old replicas', deployment({ replicas: 3 }, { ...full, replicas: 4 }), '1 old'],
    [
      'that lacks replicas',
      deployment({}, { ...full, availableReplicas: 0 }),
      '0 of 1 replicas to be available',
    ],
    [
      'a StatefulSet that lacks replicas',
      statefulSet({ replicas: 3 }, { ...full, readyReplicas: 2 }),
      '2 of 3',
    ],
    [
      'a DaemonSet that lacks pods',
      daemonSet(
        {},
        {
          observedGeneration: 2,
          desiredNumberScheduled: 3,
          updatedNumberScheduled: 3,
          numberAvailable: 1,
        },
      ),
      '1 of 3',
    ],
    ['a Job that runs', job({}, {}), 'its end'],
    ['a Job that is suspended', job({ suspend: true }, {}), 'suspended'],
    ['a load balancer without address', service({ type: 'LoadBalancer' }, { loadBalancer: {} }), 'address'],
    ['a kind that is not Ready', custom({}, condition('Ready', 'False', 'Starting')), 'Starting'],
    ['a kind with an older status', custom({}, { observedGeneration: 1 }), 'generation 2'],
  ])('%s is waited for [S3.38]', (_name, object, text) => {
    expect(readinessOf(object)).toEqual({ kind: 'waiting', for: expect.stringContaining(text) });
  });

  it.each<[string, KubeObject]>([
    [
      'a rollout that is stuck',
      deployment(
        { replicas: 3 },
        {
          ...full,
          ...condition('Progressing', 'False', 'ProgressDeadlineExceeded'),
        },
      ),
    ],
    ['a Job that failed', job({}, condition('Failed', 'True', 'BackoffLimitExceeded'))],
    ['a Pod that failed', pod({}, { phase: 'Failed' })],
    ['a claim that lost its volume', make('v1', 'PersistentVolumeClaim')({}, { phase: 'Lost' })],
  ])('%s has failed', (_name, object) => {
    expect(readinessOf(object)).toMatchObject({ kind: 'failed' });
  });
});
