import { describe, expect, it } from 'vitest';
import { findEscalation } from './escalation.js';

const pod = (spec: object): object => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec });
const inJob = (spec: object): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  spec: { template: { spec } },
});
const wrapped = (template: object): object => ({
  apiVersion: 'apps.clusternet.io/v1alpha1',
  kind: 'Manifest',
  metadata: { name: 'm' },
  template,
});
const container = (securityContext: object): object => ({
  containers: [{ name: 'a' }, { name: 'b', securityContext }],
});
const classOf = (object: object) => findEscalation(object as Record<string, unknown>)?.class;

describe('an escalation', () => {
  it.each([
    ['RBAC', { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' }],
    ['RBAC', { apiVersion: 'rbac.authorization.k8s.io/v1beta1', kind: 'ClusterRoleBinding' }],
    ['Admission', { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingWebhookConfiguration' }],
    [
      'Admission',
      { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicyBinding' },
    ],
    ['Admission', { apiVersion: 'dr.bkbcs.tencent.com/v1alpha1', kind: 'DRPolicy' }],
    [
      'Admission',
      {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { labels: { 'dr.bkbcs.tencent.com/admission': 'disabled' } },
      },
    ],
    ['APIExtensions', { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' }],
    ['APIExtensions', { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService' }],
    ['Credentials', { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest' }],
    ['Credentials', { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' }],
    ['Credentials', { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/service-account-token' }],
    ['Credentials', { apiVersion: 'v1', kind: 'Secret', type: 'bootstrap.kubernetes.io/token' }],
    [
      'Credentials',
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { annotations: { 'kubernetes.io/service-account.name': 'admin' } },
      },
    ],
    ['PrivilegedPods', { apiVersion: 'v1', kind: 'PersistentVolume', spec: { hostPath: { path: '/' } } }],
    ['PrivilegedPods', pod({ hostNetwork: true, containers: [] })],
    ['PrivilegedPods', pod({ hostPID: true })],
    ['PrivilegedPods', inJob({ hostIPC: true })],
    ['PrivilegedPods', inJob({ volumes: [{ name: 'v', hostPath: { path: '/etc' } }] })],
    ['PrivilegedPods', inJob(container({ privileged: true }))],
    ['PrivilegedPods', inJob({ initContainers: [{ securityContext: { privileged: true } }] })],
    ['PrivilegedPods', pod({ ephemeralContainers: [{ securityContext: { privileged: true } }] })],
    ['PrivilegedPods', inJob(container({ capabilities: { add: ['NET_BIND_SERVICE', 'SYS_ADMIN'] } }))],
    ['PrivilegedPods', inJob(container({ capabilities: { add: ['cap_net_admin'] } }))],
    ['PrivilegedPods', inJob(container({ procMount: 'Unmasked' }))],
    ['PrivilegedPods', inJob({ securityContext: { windowsOptions: { hostProcess: true } } })],
    [
      'PrivilegedPods',
      {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        spec: { jobTemplate: { spec: { template: { spec: { hostNetwork: true } } } } },
      },
    ],
    // A patch has no containers.
    [
      'PrivilegedPods',
      { apiVersion: 'apps/v1', kind: 'Deployment', spec: { template: { spec: { hostNetwork: true } } } },
    ],
    [
      'PrivilegedPods',
      {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Rollout',
        spec: { steps: [{ pod: { hostNetwork: true, containers: [] } }] },
      },
    ],
    // What another controller makes of it.
    ['RBAC', wrapped({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: {} })],
    ['PrivilegedPods', wrapped(pod({ hostNetwork: true }))],
    [
      'Credentials',
      wrapped({ apiVersion: 'v1', kind: 'Secret', metadata: {}, type: 'bootstrap.kubernetes.io/token' }),
    ],
    [
      'Admission',
      {
        apiVersion: 'v1',
        kind: 'List',
        items: [{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'X', metadata: {} }],
      },
    ],
    ['RBAC', wrapped(wrapped({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: {} }))],
  ])('%s: %j [SEC10]', (expected, object) => {
    expect(classOf(object)).toBe(expected);
  });

  it.each([
    { apiVersion: 'v1', kind: 'ConfigMap', data: { kind: 'ClusterRole', hostNetwork: 'true' } },
    { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { name: 's' } },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { labels: { team: 'shop' } } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 's' } },
    { apiVersion: 'example.org/v1', kind: 'ClusterRole' },
    inJob(container({ privileged: false, capabilities: { add: ['NET_BIND_SERVICE'], drop: ['ALL'] } })),
    inJob({ hostNetwork: false, volumes: [{ name: 'v', emptyDir: {} }] }),
    { apiVersion: 'ceph.rook.io/v1', kind: 'CephCluster', spec: { network: { hostNetwork: true } } },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      spec: { containers: 'none', volumes: null, hostNetwork: 'sample-of-x' },
    },
    { apiVersion: 'v1', kind: 'Pod' },
    wrapped({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }),
    // A reference.
    {
      apiVersion: 'example.org/v1',
      kind: 'X',
      spec: { of: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role' } },
    },
    {},
  ])('is not %j', (object) => {
    expect(classOf(object)).toBeUndefined();
  });

  it('says where it stands, and takes a nest for what it costs to read once', () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'r' } };
    expect(findEscalation(wrapped(wrapped(role)) as Record<string, unknown>)?.why).toContain(
      'template.template',
    );
    let nest: object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} };
    for (let depth = 0; depth < 60; depth += 1) nest = wrapped(nest);
    expect(classOf(nest)).toBeUndefined();
  });
});
