/** The configuration of the webhooks in the API server (docs/admission.md#what-is-asked). */
import { LABELS } from '../../api/core/group.js';
import type { KindDescriptor } from '../../api/core/kind-descriptor.js';
import type { KubeObject } from '../../kube/object.js';

/** How the API server reaches the bridge. */
export type Reach =
  | { kind: 'url'; url: string }
  | { kind: 'service'; namespace: string; name: string; port: number };

/** What the configurations depend on. */
export interface ConfigurationOptions {
  reach: Reach;
  /** User name of the bridge, whose own writes are not reviewed. */
  account: string;
  /** Authorities, PEM. Absent: whoever keeps the configurations fills them in. */
  caBundle?: string;
}

interface MatchCondition {
  name: string;
  expression: string;
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

const TYPE = 'admissionregistration.k8s.io/v1';

/**
 * Both configurations, for the kinds that are reviewed. Creates and changes fail closed, so that nothing runs unchecked
 * while no bridge answers; deletions and cancels fail open, so that a dead bridge blocks nobody. Status, metadata,
 * objects that are being deleted and the bridge's own writes are not reviewed.
 */
export function webhookConfigurations(
  options: ConfigurationOptions,
  kinds: readonly KindDescriptor[],
): WebhookConfiguration[] {
  const metadata = { name: CONFIGURATION, labels: { 'app.kubernetes.io/name': 'drover' } };
  const reviewed = kinds.filter((kind) => kind.reviewed);
  const groups = groupBy(reviewed, ({ group }) => group);
  return [
    {
      apiVersion: TYPE,
      kind: 'ValidatingWebhookConfiguration',
      metadata,
      webhooks: groups.flatMap(([group, own]) => validating(options, group, own)),
    },
    {
      apiVersion: TYPE,
      kind: 'MutatingWebhookConfiguration',
      metadata,
      // Called again, it would take its own stamps for those of an earlier object. What another webhook changes after it
      // is refused by the review.
      webhooks: groups
        .flatMap(([group, own]) => mutating(options, group, own))
        .map((entry) => ({ ...entry, reinvocationPolicy: 'Never' })),
    },
  ];
}

const notTheBridge = ({ account }: ConfigurationOptions): MatchCondition => ({
  name: 'not-the-bridge',
  expression: `request.userInfo.username != ${JSON.stringify(account)}`,
});
const NOT_BEING_DELETED: MatchCondition = {
  name: 'not-being-deleted',
  expression: '!has(object.metadata.deletionTimestamp)',
};

function validating(
  options: ConfigurationOptions,
  group: string,
  kinds: readonly KindDescriptor[],
): Webhook[] {
  return [
    webhook(options, {
      name: `validate.${group}`,
      path: PATHS.validate,
      operations: ['CREATE', 'UPDATE'],
      kinds,
      failurePolicy: 'Fail',
      timeoutSeconds: 5,
      matchConditions: [
        notTheBridge(options),
        NOT_BEING_DELETED,
        {
          name: 'spec-is-new',
          expression:
            'request.operation != "UPDATE" || object.metadata.generation != oldObject.metadata.generation',
        },
      ],
    }),
    webhook(options, {
      name: `protect.${group}`,
      path: PATHS.validate,
      operations: ['DELETE'],
      kinds,
      failurePolicy: 'Ignore',
      timeoutSeconds: 3,
      matchConditions: [notTheBridge(options)],
    }),
  ];
}

/** A kind with stamps has two webhooks: what somebody could forge fails closed, a cancel fails open. */
function mutating(options: ConfigurationOptions, group: string, kinds: readonly KindDescriptor[]): Webhook[] {
  return kinds.flatMap((kind) => {
    if (kind.stamps === undefined) return [];
    const { guarded, cancel } = kind.stamps;
    const forged = guarded.map(differs).join(' || ');
    const common = { path: PATHS.stamp, kinds: [kind], timeoutSeconds: 3 };
    return [
      webhook(options, {
        ...common,
        name: `stamp.${group}`,
        operations: ['CREATE', 'UPDATE'],
        failurePolicy: 'Fail',
        matchConditions: [
          notTheBridge(options),
          NOT_BEING_DELETED,
          // On an update only answers to approvals, and forgers, touch these.
          { name: 'new-answered-or-forged', expression: `request.operation != "UPDATE" || ${forged}` },
        ],
      }),
      webhook(options, {
        ...common,
        name: `stamp-cancel.${group}`,
        operations: ['UPDATE'],
        failurePolicy: 'Ignore',
        matchConditions: [
          notTheBridge(options),
          NOT_BEING_DELETED,
          { name: 'cancel-changes', expression: `(${differs(cancel)}) && !(${forged})` },
        ],
      }),
    ];
  });
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
    kinds: readonly KindDescriptor[];
    failurePolicy: 'Fail' | 'Ignore';
    timeoutSeconds: number;
    matchConditions: MatchCondition[];
  },
): Webhook {
  const { reach, caBundle } = options;
  const { path, operations, kinds, matchConditions, ...rest } = row;
  return {
    ...rest,
    clientConfig: {
      ...(reach.kind === 'url'
        ? { url: `${reach.url.replace(/\/+$/, '')}${path}` }
        : { service: { namespace: reach.namespace, name: reach.name, port: reach.port, path } }),
      ...(caBundle !== undefined && { caBundle: Buffer.from(caBundle).toString('base64') }),
    },
    ...{
      rules: rulesFor(kinds, operations),
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

/** Kinds with and without a namespace stand in rules of their own, as the scope of a rule covers all its resources. */
function rulesFor(kinds: readonly KindDescriptor[], operations: string[]): object[] {
  return groupBy(kinds, ({ scope, version }) => `${scope} ${version}`).flatMap(([, own]) =>
    own.slice(0, 1).map(({ group, version, scope }) => ({
      apiGroups: [group],
      apiVersions: [version],
      operations,
      resources: own.map(({ plural }) => plural),
      scope,
    })),
  );
}

/** In the order in which each key comes first. */
function groupBy(
  kinds: readonly KindDescriptor[],
  keyOf: (kind: KindDescriptor) => string,
): [string, KindDescriptor[]][] {
  const keys = [...new Set(kinds.map(keyOf))];
  return keys.map((key) => [key, kinds.filter((kind) => keyOf(kind) === key)]);
}
