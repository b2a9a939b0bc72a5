/** API group of all kinds. */
export const GROUP = 'dr.bkbcs.tencent.com';
/** The one served version. */
export const VERSION = 'v1alpha1';
/** `apiVersion` of every object of ours. */
export const API_VERSION = `${GROUP}/${VERSION}`;
/**
 * Field manager of all writes that are no action's own: status, the command line, what an undo puts back. Releases
 * without a field manager per action also applied under it; now nothing does, so it takes no field away.
 */
export const FIELD_MANAGER = 'drover';

/** Resource (plural) names by kind. */
export const PLURALS = {
  DRWorkflow: 'drworkflows',
  DRPlan: 'drplans',
  DRPlanExecution: 'drplanexecutions',
} as const;

/** Resource name of DRPolicy, the one kind without a namespace. */
export const POLICY_PLURAL = 'drpolicies';

/** The kinds of the group that have a namespace. */
export type Kind = keyof typeof PLURALS;

/** Labels that Drover sets. */
export const LABELS = {
  /** On executions: the plan (S1.16). */
  plan: `${GROUP}/plan`,
  /** On plans that use a single workflow: that workflow (S1.16). */
  workflow: `${GROUP}/workflow`,
  /** On objects that an action made: uid of the execution (S3.7). */
  execution: `${GROUP}/execution`,
  /** On objects that an action made: `<stage>.<workflow>.<action>` position. */
  action: `${GROUP}/action`,
  /** On Subscriptions for one cluster: the name that the action gives all of them together. */
  subscription: `${GROUP}/subscription`,
  /** On snapshot revisions: the content digest, shortened to a label value. */
  snapshot: `${GROUP}/snapshot`,
  /** On namespaces: `disabled` keeps admission webhooks away from what is in them. */
  admission: `${GROUP}/admission`,
  /** On Jobs of hooks: which hook of which plan, so that a later run finds what an earlier one left. */
  hook: `${GROUP}/hook`,
} as const;

/** Annotations that Drover reads or sets. */
export const ANNOTATIONS = {
  /** On an execution: `"true"` cancels it, `"terminate"` ends a run that cannot go on (S5.30). */
  cancel: `${GROUP}/cancel`,
  /** Deprecated plan trigger: starts nothing and gets a Warning event. */
  trigger: `${GROUP}/trigger`,
  /**
   * Stamp: the uid of the execution it was set on, or {@link COPY_STAMP}; tells a restored copy from the original. Set when
   * an execution ends, and at its start where nobody admits it.
   */
  stamp: `${GROUP}/execution-uid`,
  /** Releases the finalizer of an execution whose Temporal cannot be reached. */
  forceDelete: `${GROUP}/force-delete`,
  /** On objects that an action made: the full idempotency key. */
  key: `${GROUP}/key`,
  /** On Subscriptions for one cluster: `namespace/name` of the ManagedCluster, and its clusterId. */
  cluster: `${GROUP}/cluster`,
  clusterId: `${GROUP}/cluster-id`,
  /** On executions, by admission: a seal that says that it was looked at, and what was asked for by whom. */
  admission: `${GROUP}/admission`,
  /** On executions, by admission: the user who created it. */
  requestedBy: `${GROUP}/requested-by`,
  /** On executions, by admission: all that the API server knows of who asked, for questions asked later, JSON. */
  requester: `${GROUP}/requester`,
  /** On executions, by admission: the user who set the cancel annotation. */
  cancelRequestedBy: `${GROUP}/cancel-requested-by`,
  /** On executions, by admission: whom its requester may have it act as. */
  authorizedAs: `${GROUP}/authorized-as`,
  /** On executions: an answer to an approval, taken off by admission, which records it in `approvals`. */
  approve: `${GROUP}/approve`,
  reject: `${GROUP}/reject`,
  /** On executions, by admission: the answers to approvals with who gave them, JSON. */
  approvals: `${GROUP}/approvals`,
  /** On Secrets: hosts that their values may be sent to, by commas; absent = any. */
  allowedHosts: `${GROUP}/allowed-hosts`,
  /** On executions, by the bridge: uid of the revert that the finalizer was put back for. */
  heldFor: `${GROUP}/held-for`,
  /** On executions, by the bridge: the action of another execution that this one is part of, JSON. */
  nestedIn: `${GROUP}/nested-in`,
  /**
   * On executions: W3C `traceparent` of the trace that its run goes on. Whoever creates one may set it; where traces are on,
   * admission puts its own place in the trace there.
   */
  traceparent: `${GROUP}/traceparent`,
  /** On snapshot revisions, by the bridge: when a run was last started from them, RFC 3339. */
  used: `${GROUP}/used`,
} as const;

/** The uid stamp that admission gives to an object that arrives with marks only an earlier execution can have. */
export const COPY_STAMP = 'copy';

/** Type of the Secrets that keep the state of objects before and after an action. */
export const PRIOR_STATE_TYPE = `${GROUP}/prior-state`;

/** Finalizers. */
export const FINALIZERS = {
  /** Ours, on executions: the record stays until its run is over, or while a revert needs it (S5.39). */
  execution: `${GROUP}/execution-cleanup`,
  /** The original controller's, removed wherever it is met. */
  legacyExecution: `${GROUP}/execution-finalizer`,
} as const;
