/** Finds objects with which an account could get more than it was given (SEC10). */
import { GROUP, LABELS } from '../core/group.js';
import { isObject } from '../core/json.js';
import type { Escalation } from './schema/policy.js';

/** What was found, and in which words. */
export interface EscalationFound {
  class: Escalation;
  why: string;
}

const GROUPS: Record<string, { class: Escalation; why: string }> = {
  'rbac.authorization.k8s.io': { class: 'RBAC', why: 'it changes who may do what' },
  'admissionregistration.k8s.io': { class: 'Admission', why: 'it changes what the API server lets in' },
  'apiextensions.k8s.io': { class: 'APIExtensions', why: 'it changes which kinds the API server serves' },
  'apiregistration.k8s.io': { class: 'APIExtensions', why: 'it redirects requests to the API server' },
  'certificates.k8s.io': { class: 'Credentials', why: 'it asks for a certificate to log in with' },
  'authentication.k8s.io': { class: 'Credentials', why: 'it asks for credentials' },
};
const TOKEN_SECRETS = new Set(['kubernetes.io/service-account-token', 'bootstrap.kubernetes.io/token']);
/** Where each kind keeps its pod. */
const POD_PATHS: Record<string, readonly string[]> = {
  '/Pod': ['spec'],
  '/PodTemplate': ['template', 'spec'],
  '/ReplicationController': ['spec', 'template', 'spec'],
  'apps/DaemonSet': ['spec', 'template', 'spec'],
  'apps/Deployment': ['spec', 'template', 'spec'],
  'apps/ReplicaSet': ['spec', 'template', 'spec'],
  'apps/StatefulSet': ['spec', 'template', 'spec'],
  'batch/CronJob': ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
  'batch/Job': ['spec', 'template', 'spec'],
};
/** What containers have anyway (Pod Security Standards, baseline). */
const ORDINARY_CAPABILITIES = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);
/** Objects nest far less deep; what nests deeper was refused before. */
const MAX_DEPTH = 64;

/**
 * The escalation in an object, whole or as a patch. Values that are not known yet are not judged: what is written in the
 * end is looked at again.
 */
export function findEscalation(object: Record<string, unknown>): EscalationFound | undefined {
  const { apiVersion, kind } = object;
  return typeof apiVersion === 'string' && typeof kind === 'string'
    ? inspect({ ...object, apiVersion, kind }, '', 0)
    : undefined;
}

/** @param at where the object stands in another one */
function inspect(
  object: Record<string, unknown> & { apiVersion: string; kind: string },
  at: string,
  depth: number,
): EscalationFound | undefined {
  const { apiVersion, kind } = object;
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  const known = Object.hasOwn(GROUPS, group) ? GROUPS[group] : undefined;
  if (known !== undefined) return known;
  if (group === GROUP && kind === 'DRPolicy') {
    return { class: 'Admission', why: 'it changes what plans may do' };
  }
  const metadata = isObject(object.metadata) ? object.metadata : {};
  if (group === '' && kind === 'Namespace') {
    const labels = isObject(metadata.labels) ? metadata.labels : {};
    if (Object.hasOwn(labels, LABELS.admission)) {
      return { class: 'Admission', why: `label ${LABELS.admission} keeps admission away from the namespace` };
    }
  }
  if (group === '' && kind === 'Secret') {
    const annotations = isObject(metadata.annotations) ? metadata.annotations : {};
    const isToken = typeof object.type === 'string' && TOKEN_SECRETS.has(object.type);
    if (isToken || Object.hasOwn(annotations, 'kubernetes.io/service-account.name')) {
      return { class: 'Credentials', why: 'it asks for a token to log in with' };
    }
  }
  if (group === '' && kind === 'PersistentVolume') {
    const spec = isObject(object.spec) ? object.spec : {};
    if (spec.hostPath !== undefined && spec.hostPath !== null) {
      return privileged('spec.hostPath gives access to files of the node');
    }
  }
  const path = POD_PATHS[`${group}/${kind}`];
  if (path !== undefined) return findInPod(dig(object, path), below(at, path.join('.')));
  return findEmbedded(object, at, depth);
}

const privileged = (why: string): EscalationFound => ({ class: 'PrivilegedPods', why });

function dig(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (isObject(node) ? node[key] : undefined), value);
}

const below = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/** Kinds of others may hold pods and whole objects anywhere: what has containers is a pod. */
function findEmbedded(value: unknown, path: string, depth: number): EscalationFound | undefined {
  if (depth > MAX_DEPTH) return undefined;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const found = findWithin(item, `${path}[${index}]`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isObject(value)) return undefined;
  if (Array.isArray(value.containers)) {
    const found = findInPod(value, path);
    if (found !== undefined) return found;
  }
  for (const [key, item] of Object.entries(value)) {
    const found = findWithin(item, below(path, key), depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What another controller makes of an object, perhaps in another cluster, is written by whoever wrote the object. */
function findWithin(value: unknown, path: string, depth: number): EscalationFound | undefined {
  if (!isObject(value)) return findEmbedded(value, path, depth);
  const { apiVersion, kind, metadata } = value;
  // A reference names a kind, too, but has no metadata.
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !isObject(metadata))
    return findEmbedded(value, path, depth);
  const found = inspect({ ...value, apiVersion, kind }, path, depth);
  return (
    found && { ...found, why: found.why.includes(path) ? found.why : `${path} is a ${kind}: ${found.why}` }
  );
}

function findInPod(pod: unknown, path: string): EscalationFound | undefined {
  if (!isObject(pod)) return undefined;
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) {
    if (pod[field] === true) return privileged(`${path}.${field} is true`);
  }
  const pods = inSecurityContext(pod.securityContext, `${path}.securityContext`);
  if (pods !== undefined) return pods;
  for (const [index, volume] of list(pod.volumes)) {
    if (isObject(volume) && volume.hostPath !== undefined && volume.hostPath !== null) {
      return privileged(`${path}.volumes[${index}].hostPath gives access to files of the node`);
    }
  }
  for (const field of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const [index, container] of list(pod[field])) {
      if (!isObject(container)) continue;
      const where = `${path}.${field}[${index}].securityContext`;
      const found = inSecurityContext(container.securityContext, where);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function inSecurityContext(context: unknown, path: string): EscalationFound | undefined {
  if (!isObject(context)) return undefined;
  if (context.privileged === true) return privileged(`${path}.privileged is true`);
  if (typeof context.procMount === 'string' && context.procMount !== 'Default') {
    return privileged(`${path}.procMount is ${context.procMount}`);
  }
  if (dig(context, ['windowsOptions', 'hostProcess']) === true) {
    return privileged(`${path}.windowsOptions.hostProcess is true`);
  }
  for (const [index, capability] of list(dig(context, ['capabilities', 'add']))) {
    if (typeof capability !== 'string') continue;
    if (!ORDINARY_CAPABILITIES.has(capability.toUpperCase().replace(/^CAP_/, ''))) {
      return privileged(`${path}.capabilities.add[${index}] is ${capability}`);
    }
  }
  return undefined;
}

const list = (value: unknown): [number, unknown][] =>
  Array.isArray(value) ? [...(value as unknown[]).entries()] : [];
