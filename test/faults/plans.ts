/** The plans that are run while faults strike: together they have every action type that acts on something. */
import type { Action, DRPlanSpec, DRWorkflowSpec } from '../../api/plan/types.js';
import type { Boundary } from './boundaries.js';
import type { OutsideAct } from './outside.js';
import { ECHOED_HEADER } from './endpoint.js';
import { ACCOUNT, FOREIGN_NAMESPACE, SECRET } from './tenant.js';

/** What a journey may go through that is not made for somebody who acts from outside. */
export const ORDINARY_KINDS = [
  'switch',
  'short',
  'cancel',
  'delete',
  'rollback',
  'rivals',
  'trespass',
] as const;
/** What a journey goes through. */
export type JourneyKind = (typeof ORDINARY_KINDS)[number] | OutsideAct;

/** Workflows and plan of a journey. */
export interface Definition {
  workflows: Record<string, DRWorkflowSpec>;
  plan: DRPlanSpec;
}

export const SITE = 'clusternet-site-a';

/** An outage must not use the attempts up: how often a run is struck is chance. */
const PATIENT = { limit: 100, interval: '500ms', backoffMultiplier: 1 };

/** Boundaries that a kind of journey passes, beside those that every run passes. */
export const PASSES: Record<JourneyKind, readonly Boundary[]> = {
  switch: ['capture', 'effect-http', 'effect-job', 'effect-object', 'finalizer'],
  short: ['effect-http', 'effect-object', 'capture', 'finalizer'],
  cancel: ['cancel', 'effect-job', 'effect-http'],
  delete: ['cancel', 'finalizer', 'effect-job'],
  rollback: ['effect-http', 'effect-object', 'capture'],
  rivals: ['lock', 'stamp', 'plan-end'],
  trespass: ['effect-http', 'activity-completion', 'activity-start'],
  // Only for those who act from outside: other faults strike them as they strike all.
  terminate: [],
  'terminate-stage': [],
  reset: [],
  'request-cancel': [],
  'request-cancel-stage': [],
};

/** What a journey of a kind runs. */
export function definitionOf(kind: JourneyKind, id: string, url: string): Definition {
  const call = (name: string, path: string, more: Partial<Action> = {}): Action => ({
    name,
    type: 'HTTP',
    timeout: '20s',
    retryPolicy: PATIENT,
    http: {
      url: `${url}/${id}/${path}`,
      method: 'POST',
      // The endpoint sends it back: it must not be seen in what is kept of the answer.
      headersFrom: [{ name: ECHOED_HEADER, secretKeyRef: SECRET }],
    },
    ...more,
  });
  const open = call('open', 'open?delay=200', {
    rollback: {
      type: 'HTTP',
      timeout: '20s',
      retryPolicy: PATIENT,
      http: { url: `${url}/${id}/close`, method: 'POST' },
    },
  });
  const object = (name: string, operation: string, text: string): Action => ({
    name,
    type: 'KubernetesResource',
    timeout: '20s',
    retryPolicy: PATIENT,
    resource: { operation, manifest: text },
  });
  const configMap = (name: string, site: string): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {site: ${site}}\n`;
  // One object is new and the other is there: the automatic undo removes the one and restores the other.
  const apply = object('apply', 'Apply', `${configMap(`${id}-new`, 'b')}---\n${configMap(`${id}-had`, 'b')}`);
  const patch: Action = {
    ...object('patch', 'Patch', configMap(`${id}-old`, 'b')),
    rollback: {
      type: 'KubernetesResource',
      timeout: '20s',
      retryPolicy: PATIENT,
      resource: { operation: 'Patch', manifest: configMap(`${id}-old`, 'a') },
    },
  };
  const job = (annotations: Record<string, string>): Action => ({
    name: 'job',
    type: 'Job',
    timeout: '2m',
    retryPolicy: PATIENT,
    job: {
      namespace: 'faults',
      template: {
        spec: {
          backoffLimit: 0,
          template: {
            metadata: { annotations },
            spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example/none' }] },
          },
        },
      },
    },
  });
  const stages = (names: string[], more: Partial<DRPlanSpec> = {}): DRPlanSpec => ({
    // What needs rights on clusters acts as the controller.
    ...(kind !== 'switch' && { serviceAccountName: ACCOUNT }),
    stages: names.map((name) => ({ name, workflows: [{ workflowRef: { name: `${id}-${name}` } }] })),
    ...more,
  });

  switch (kind) {
    case 'switch':
      return {
        workflows: {
          [`${id}-move`]: { actions: [open, job({ 'sim.drover.dev/duration': '300ms' }), apply] },
          [`${id}-point`]: {
            actions: [
              patch,
              { ...localization(id), dependsOn: ['patch'] },
              { ...subscription(id), dependsOn: ['patch'] },
              {
                name: 'seen',
                type: 'Wait',
                timeout: '2m',
                dependsOn: ['patch'],
                retryPolicy: PATIENT,
                wait: {
                  for: { apiVersion: 'v1', kind: 'ConfigMap', name: `${id}-old` },
                  condition: 'object.data.site == "b"',
                },
              },
              { name: 'pause', type: 'Wait', dependsOn: ['seen'], wait: { duration: '1s' } },
              {
                name: 'tell',
                type: 'Notify',
                timeout: '20s',
                dependsOn: ['localize', 'subscribe', 'pause'],
                retryPolicy: PATIENT,
                notify: { type: 'Webhook', url: `${url}/${id}/tell`, template: 'moved', required: true },
              },
              call('done', 'done', { dependsOn: ['tell'] }),
            ],
          },
        },
        plan: stages(['move', 'point']),
      };
    case 'short':
    case 'rivals':
      return {
        workflows: { [`${id}-one`]: { actions: [open, patch, apply] } },
        plan: stages(['one']),
      };
    case 'trespass': {
      const away = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${id}-away, namespace: ${FOREIGN_NAMESPACE}}\n`;
      return {
        workflows: { [`${id}-one`]: { actions: [open, object('trespass', 'Create', away)] } },
        plan: stages(['one']),
      };
    }
    case 'reset': {
      const pause: Action = { name: 'pause', type: 'Wait', wait: { duration: '20s' } };
      return {
        workflows: { [`${id}-one`]: { actions: [open, pause, apply] } },
        plan: stages(['one']),
      };
    }
    case 'cancel':
    case 'delete':
    case 'terminate':
    case 'terminate-stage':
    case 'request-cancel':
    case 'request-cancel-stage':
      return {
        workflows: { [`${id}-one`]: { actions: [open, job({ 'sim.drover.dev/hang': 'yes' }), apply] } },
        plan: stages(['one']),
      };
    case 'rollback':
      return {
        workflows: {
          [`${id}-one`]: { actions: [open, patch, apply] },
          [`${id}-two`]: {
            actions: [
              // Once an answer of it was lost, the endpoint may have acted before it said no: then there is something to undo.
              call('fail', 'fail?status=400', {
                rollback: {
                  type: 'HTTP',
                  timeout: '20s',
                  retryPolicy: PATIENT,
                  http: { url: `${url}/${id}/unfail`, method: 'POST' },
                },
              }),
            ],
          },
        },
        plan: stages(['one', 'two'], { onFailure: 'Rollback' }),
      };
  }
}

function localization(id: string): Action {
  return {
    name: 'localize',
    type: 'Localization',
    timeout: '20s',
    retryPolicy: PATIENT,
    localization: {
      operation: 'Create',
      name: id,
      namespace: SITE,
      overridePolicy: 'ApplyNow',
      feed: { apiVersion: 'v1', kind: 'ConfigMap', name: 'app', namespace: 'faults' },
      overrides: [{ name: 'site', type: 'MergePatch', value: '{"data": {"site": "b"}}' }],
    },
  };
}

function subscription(id: string): Action {
  return {
    name: 'subscribe',
    type: 'Subscription',
    timeout: '60s',
    waitReady: true,
    retryPolicy: PATIENT,
    subscription: {
      operation: 'Create',
      name: id,
      feeds: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'app', namespace: 'faults' }],
      subscribers: [{ clusterAffinity: { matchLabels: { site: 'a' } } }],
    },
  };
}
