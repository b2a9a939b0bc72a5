import type { TypedObject } from '../../kube/object.js';

/** The label by which kwok knows the nodes it plays. */
export const fakeNodeSelector = 'type=kwok';

/** The name of the one fake node. */
export const fakeNodeName = 'drover-node-0';

/** The one node every pod lands on: large enough never to be full. */
export function fakeNode(): TypedObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: fakeNodeName,
      labels: { type: 'kwok', 'kubernetes.io/hostname': fakeNodeName, 'kubernetes.io/os': 'linux' },
    },
  };
}

/** The node's capacity, a part of its status. */
export function fakeNodeStatus(): TypedObject {
  const size = { cpu: '64', memory: '256Gi', pods: '5000' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: fakeNodeName },
    status: { allocatable: size, capacity: size },
  };
}
