/** What the kinds of Terraform runs are called (T1.1). */
import type { KindName } from '../core/kind-descriptor.js';

/** API group of the kinds. */
export const TERRAFORM_GROUP = 'iac.drover.dev';
const ours = { group: TERRAFORM_GROUP, version: 'v1alpha1', scope: 'Namespaced' } as const;

/** By kind. */
export const TERRAFORM_KIND_NAMES = {
  Workspace: {
    ...ours,
    kind: 'Workspace',
    plural: 'workspaces',
    shortName: 'tfw',
    word: 'workspace',
    words: 'workspaces',
  },
  TerraformRun: {
    ...ours,
    kind: 'TerraformRun',
    plural: 'terraformruns',
    shortName: 'tfr',
    word: 'run',
    words: 'runs',
  },
  RunTask: {
    ...ours,
    kind: 'RunTask',
    plural: 'runtasks',
    shortName: 'tftask',
    word: 'run task',
    words: 'run tasks',
  },
  RunTrigger: {
    ...ours,
    kind: 'RunTrigger',
    plural: 'runtriggers',
    shortName: 'tftrig',
    word: 'run trigger',
    words: 'run triggers',
  },
  NotificationTarget: {
    ...ours,
    kind: 'NotificationTarget',
    plural: 'notificationtargets',
    shortName: 'tfnt',
    word: 'notification target',
    words: 'notification targets',
  },
} as const satisfies Record<string, KindName>;
