/** The configuration of the webhooks in the API server (architecture, §6). */
import { ANNOTATIONS, GROUP, LABELS, PLURALS, VERSION } from '../../api/core/group.js';
import type { KubeObject } from '../../kube/object.js';

/** How the API server reaches the bridge. */
export type Reach =
  { kind: 'url'; url: string } | { kind: 'service'; namespace: string; name: string; port: number };

/** What the configurations depend on. */
export interface ConfigurationOptions {
  reach: Reach;
  /** User name of the bridge, whose own writes are not reviewed. */
  account: string;
  /** Authorities, PEM. Absent: whoever keeps the configurations fills them in. */
  caBundle?: string;
}

/** A webhook, as far as others need to know it. */
export interface Webhook {
  name: string;
  clientConfig: { caBundle?: string };
}

/** A ValidatingWebhookConfiguration or MutatingWebhookConfiguration. */
export interface WebhookConfiguration extends KubeObject {
  webhooks: Webhook[];
}

/** Name of both configurations. */
export const CONFIGURATION = 'drover';

/** Paths of the server. */
export const PATHS = { validate: '/validate', stamp: '/stamp' } as const;

/** Kinds that are reviewed. */
export const KINDS_REVIEWED: ReadonlySet<string> = new Set(Object.keys(PLURALS));

const TYPE = 'admissionregistration.k8s.io/v1';
const EXECUTIONS = [PLURALS.DRPlanExecution];

/**
 * Both configurations. Creates and changes fail closed, so that nothing runs unchecked while no bridge answers;
 * deletions and cancels fail open, so that a dead bridge blocks nobody. Status, metadata, objects that are being
 * deleted and the bridge's own writes are not reviewed.
 */
export function webhookConfigurations(options: ConfigurationOptions): WebhookConfiguration[] {
  const notTheBridge = {
    name: 'not-the-bridge',
    expression: `request.userInfo.username != ${JSON.stringify(options.account)}`,
  };
  const notBeingDeleted = {
    name: 'not-being-deleted',
    expression: '!has(object.metadata.deletionTimestamp)',
  };
  const { approve, reject, approvals, authorizedAs, requestedBy, requester } = ANNOTATIONS;
  const { cancelRequestedBy, nestedIn, key, admission, stamp } = ANNOTATIONS;
  // An answer to an approval counts only once it is stamped, so it fails closed too.
  const stamps = [
    ...[requestedBy, requester, authorizedAs, cancelRequestedBy, nestedIn, key, admission, stamp],
    ...[approvals, approve, reject],
  ]
    .map(differs)
    .join(' || ');
  const validating = [
    webhook(options, {
      name: `validate.${GROUP}`,
      path: PATHS.validate,
      operations: ['CREATE', 'UPDATE'],
      resources: Object.values(PLURALS),
      failurePolicy: 'Fail',
      timeoutSeconds: 5,
      matchConditions: [
        notTheBridge,
        notBeingDeleted,
        {
          name: 'spec-is-new',
          expression:
            'request.operation != "UPDATE" || object.metadata.generation != oldObject.metadata.generation',
        },
      ],
    }),
    webhook(options, {
      name: `protect.${GROUP}`,
      path: PATHS.validate,
      operations: ['DELETE'],
      resources: Object.values(PLURALS),
      failurePolicy: 'Ignore',
      timeoutSeconds: 3,
      matchConditions: [notTheBridge],
    }),
  ];
  const mutating = [
    webhook(options, {
      name: `stamp.${GROUP}`,
      path: PATHS.stamp,
      operations: ['CREATE', 'UPDATE'],
      resources: EXECUTIONS,
      failurePolicy: 'Fail',
      timeoutSeconds: 3,
      matchConditions: [
        notTheBridge,
        notBeingDeleted,
        // On an update only answers to approvals, and forgers, touch these.
        { name: 'new-answered-or-forged', expression: `request.operation != "UPDATE" || ${stamps}` },
      ],
    }),
    webhook(options, {
      name: `stamp-cancel.${GROUP}`,
      path: PATHS.stamp,
      operations: ['UPDATE'],
      resources: EXECUTIONS,
      failurePolicy: 'Ignore',
      timeoutSeconds: 3,
      matchConditions: [
        notTheBridge,
        notBeingDeleted,
        { name: 'cancel-changes', expression: `(${differs(ANNOTATIONS.cancel)}) && !(${stamps})` },
      ],
    }),
  ];
  const metadata = { name: CONFIGURATION, labels: { 'app.kubernetes.io/name': 'drover' } };
  return [
    { apiVersion: TYPE, kind: 'ValidatingWebhookConfiguration', metadata, webhooks: validating },
    {
      apiVersion: TYPE,
      kind: 'MutatingWebhookConfiguration',
      metadata,
      // Called again, it would take its own stamps for those of an earlier execution. What another webhook changes
      // after it is refused by the review.
      webhooks: mutating.map((entry) => ({ ...entry, reinvocationPolicy: 'Never' })),
    },
  ];
}

/** CEL: whether an annotation has changed; an empty one differs from none. */
function differs(annotation: string): string {
  const value = (object: string): string =>
    `(has(${object}.metadata.annotations) && "${annotation}" in ${object}.metadata.annotations ? "=" + ${object}.metadata.annotations["${annotation}"] : "")`;
  return `${value('object')} != ${value('oldObject')}`;
}

function webhook(
  options: ConfigurationOptions,
  row: {
    name: string;
    path: string;
    operations: string[];
    resources: string[];
    failurePolicy: 'Fail' | 'Ignore';
    timeoutSeconds: number;
    matchConditions: { name: string; expression: string }[];
  },
): Webhook {
  const { reach, caBundle } = options;
  const { path, operations, resources, matchConditions, ...rest } = row;
  return {
    ...rest,
    clientConfig: {
      ...(reach.kind === 'url'
        ? { url: `${reach.url.replace(/\/+$/, '')}${path}` }
        : { service: { namespace: reach.namespace, name: reach.name, port: reach.port, path } }),
      ...(caBundle !== undefined && { caBundle: Buffer.from(caBundle).toString('base64') }),
    },
    ...{
      rules: [{ apiGroups: [GROUP], apiVersions: [VERSION], operations, resources, scope: 'Namespaced' }],
      ...(matchConditions.length > 0 && { matchConditions }),
      namespaceSelector: {
        matchExpressions: [{ key: LABELS.admission, operator: 'NotIn', values: ['disabled'] }],
      },
      matchPolicy: 'Equivalent',
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    },
  };
}
