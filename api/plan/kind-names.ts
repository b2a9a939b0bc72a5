/** What the kinds of DR plans are called. */
import { GROUP, PLURALS, POLICY_PLURAL, VERSION } from '../core/group.js';
import type { KindName } from '../core/kind-descriptor.js';

const ours = { group: GROUP, version: VERSION } as const;

/** By kind. */
export const DR_KIND_NAMES = {
  DRWorkflow: {
    ...ours,
    kind: 'DRWorkflow',
    plural: PLURALS.DRWorkflow,
    word: 'workflow',
    words: 'workflows',
    scope: 'Namespaced',
    shortName: 'drwf',
  },
  DRPlan: {
    ...ours,
    kind: 'DRPlan',
    plural: PLURALS.DRPlan,
    word: 'plan',
    words: 'plans',
    scope: 'Namespaced',
    shortName: 'drp',
  },
  DRPlanExecution: {
    ...ours,
    kind: 'DRPlanExecution',
    plural: PLURALS.DRPlanExecution,
    word: 'execution',
    words: 'executions',
    scope: 'Namespaced',
    shortName: 'drpx',
  },
  DRPolicy: {
    ...ours,
    kind: 'DRPolicy',
    plural: POLICY_PLURAL,
    word: 'policy',
    words: 'policies',
    scope: 'Cluster',
    shortName: 'drpol',
  },
} as const satisfies Record<string, KindName>;

/** A kind of DR plans. */
export type DrKind = keyof typeof DR_KIND_NAMES;
