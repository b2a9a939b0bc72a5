/** Whether an object does its work, seen from the object itself. */
import { isObject } from '../../../api/core/json.js';
import type { KubeObject } from '../../../kube/object.js';

/** Answer of {@link readinessOf}. */
export type ObjectReadiness =
  | { kind: 'ready' }
  | { kind: 'waiting'; for: string }
  /** It will not become ready by itself. */
  | { kind: 'failed'; why: string };

const READY: ObjectReadiness = { kind: 'ready' };
const waiting = (text: string): ObjectReadiness => ({ kind: 'waiting', for: text });
const failed = (why: string): ObjectReadiness => ({ kind: 'failed', why });

/**
 * Rules of our own, per kind; a status that speaks of an older generation never counts. Kinds without a rule are ready
 * when they are there, unless they have a condition Ready that is not True.
 */
export function readinessOf(object: KubeObject): ObjectReadiness {
  const spec = mapOf(object.spec);
  const status = mapOf(object.status);
  const generation = object.metadata.generation ?? 0;
  const observed = status.observedGeneration;
  const rule = RULES[`${groupOf(object)}/${object.kind ?? ''}`];
  const isBehind = typeof observed === 'number' && observed < generation;
  if (isBehind || (rule?.observes === true && observed === undefined)) {
    return waiting(`its controller to see generation ${generation}`);
  }
  if (rule !== undefined) return rule.judge(spec, status);
  const ready = conditionOf(status, 'Ready');
  return ready === undefined || ready.status === 'True'
    ? READY
    : waiting(`condition Ready, which is ${String(ready.status)}${reasonOf(ready)}`);
}

interface Rule {
  /** Whether its controller writes observedGeneration, so that a missing one means that it has not looked yet. */
  observes?: boolean;
  judge(spec: Record<string, unknown>, status: Record<string, unknown>): ObjectReadiness;
}

const RULES: Record<string, Rule | undefined> = {
  'apps/Deployment': {
    observes: true,
    judge(spec, status) {
      const wanted = numberOf(spec.replicas, 1);
      const progressing = conditionOf(status, 'Progressing');
      if (progressing?.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded') {
        return failed(`its rollout is stuck${reasonOf(progressing)}`);
      }
      const updated = numberOf(status.updatedReplicas, 0);
      if (updated < wanted) return waiting(`${updated} of ${wanted} replicas to be updated`);
      const old = numberOf(status.replicas, 0) - updated;
      if (old > 0) return waiting(`${old} old replicas to end`);
      return enough(status.availableReplicas, wanted, 'available');
    },
  },
  'apps/StatefulSet': {
    observes: true,
    judge(spec, status) {
      const wanted = numberOf(spec.replicas, 1);
      const strategy = mapOf(spec.updateStrategy);
      if (strategy.type !== 'OnDelete') {
        const partition = numberOf(mapOf(strategy.rollingUpdate).partition, 0);
        const toUpdate = Math.max(0, wanted - partition);
        const updated = numberOf(status.updatedReplicas, 0);
        if (updated < toUpdate) return waiting(`${updated} of ${toUpdate} replicas to be updated`);
      }
      return enough(status.readyReplicas, wanted, 'ready');
    },
  },
  'apps/ReplicaSet': {
    observes: true,
    judge: (spec, status) => enough(status.availableReplicas, numberOf(spec.replicas, 1), 'available'),
  },
  'apps/DaemonSet': {
    observes: true,
    judge(spec, status) {
      const wanted = numberOf(status.desiredNumberScheduled, 0);
      if (mapOf(spec.updateStrategy).type !== 'OnDelete') {
        const updated = numberOf(status.updatedNumberScheduled, 0);
        if (updated < wanted) return waiting(`${updated} of ${wanted} pods to be updated`);
      }
      return enough(status.numberAvailable, wanted, 'available');
    },
  },
  'batch/Job': {
    judge(spec, status) {
      const end = conditionOf(status, 'Failed');
      if (end?.status === 'True') return failed(`it failed${reasonOf(end)}`);
      if (conditionOf(status, 'Complete')?.status === 'True') return READY;
      return waiting(spec.suspend === true ? 'its end, but it is suspended' : 'its end');
    },
  },
  '/Pod': {
    judge(_spec, status) {
      if (status.phase === 'Succeeded') return READY;
      if (status.phase === 'Failed') return failed('it has ended in phase Failed');
      return conditionOf(status, 'Ready')?.status === 'True' ? READY : waiting('it to be Ready');
    },
  },
  '/Service': {
    judge(spec, status) {
      const ingress = mapOf(status.loadBalancer).ingress;
      const has = Array.isArray(ingress) && ingress.length > 0;
      return spec.type === 'LoadBalancer' && !has ? waiting('an address of its load balancer') : READY;
    },
  },
  '/PersistentVolumeClaim': {
    // Pending may be right: some storage waits for the first pod.
    judge: (_spec, status) => (status.phase === 'Lost' ? failed('its volume is lost') : READY),
  },
  'apiextensions.k8s.io/CustomResourceDefinition': {
    judge: (_spec, status) =>
      conditionOf(status, 'Established')?.status === 'True' ? READY : waiting('it to be established'),
  },
};

function enough(have: unknown, wanted: number, what: string): ObjectReadiness {
  const count = numberOf(have, 0);
  return count < wanted ? waiting(`${count} of ${wanted} replicas to be ${what}`) : READY;
}

interface ConditionLike {
  status: unknown;
  reason: unknown;
  message: unknown;
}

function conditionOf(status: Record<string, unknown>, type: string): ConditionLike | undefined {
  const list = Array.isArray(status.conditions) ? (status.conditions as unknown[]) : [];
  const found = list.find((condition) => isObject(condition) && condition.type === type);
  return isObject(found) ? { status: found.status, reason: found.reason, message: found.message } : undefined;
}

function reasonOf({ reason, message }: ConditionLike): string {
  const parts = [reason, message].filter((part) => typeof part === 'string' && part !== '');
  return parts.length === 0 ? '' : ` (${parts.join(': ')})`;
}

const groupOf = ({ apiVersion = '' }: KubeObject): string =>
  apiVersion.includes('/') ? (apiVersion.split('/', 1)[0] ?? '') : '';

const mapOf = (value: unknown): Record<string, unknown> => (isObject(value) ? value : {});

const numberOf = (value: unknown, absent: number): number => (typeof value === 'number' ? value : absent);
