/**
 * The kinds of Terraform runs (T1.1). Not in the list of `api/kinds.ts` yet: nothing looks after their objects, and a
 * definition without that would take runs that never begin.
 */
import type { Access, KindDescriptor, PrinterColumn } from '../core/kind-descriptor.js';
import { WORKSPACE_VERBS } from './authority.js';
import { TERRAFORM_KIND_NAMES } from './kind-names.js';
import { notificationTargetSpecSchema } from './schema/notification-target.js';
import { runSpecSchema, runStatusSchema } from './schema/run.js';
import { readyStatusSchema, runTaskSpecSchema } from './schema/run-task.js';
import { runTriggerSpecSchema } from './schema/run-trigger.js';
import { workspaceSpecSchema, workspaceStatusSchema } from './schema/workspace.js';

const condition = (type: string, field: string): string =>
  `.status.conditions[?(@.type=="${type}")].${field}`;
const column = (
  name: string,
  jsonPath: string,
  description: string,
  type: PrinterColumn['type'] = 'string',
): PrinterColumn => ({ name, type, jsonPath, description });
const AGE = column('Age', '.metadata.creationTimestamp', 'Time since creation', 'date');
const READY = [
  column('Ready', condition('Ready', 'status'), 'Whether it is used'),
  column('Reason', condition('Ready', 'reason'), 'Why'),
];
const MESSAGE: PrinterColumn = {
  ...column('Message', condition('Ready', 'message'), 'What was found'),
  priority: 1,
};

const READ = ['get', 'list', 'watch'] as const;
const ACCESS: readonly Access[] = [
  ...(['bridge', 'view', 'operator'] as const).map((role) => ({ role, verbs: READ })),
  { role: 'edit', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] },
  { role: 'bridge', part: 'status', verbs: ['patch'] },
];

/** The kinds of Terraform runs. */
export const TERRAFORM_KINDS = [
  {
    ...TERRAFORM_KIND_NAMES.Workspace,
    description: 'A configuration of Terraform or OpenTofu with its state, and how it is run.',
    spec: workspaceSpecSchema,
    status: workspaceStatusSchema,
    columns: [
      column('Engine', '.spec.engine', 'terraform or opentofu'),
      column('State', '.status.state', 'State after the newest run'),
      column('Lock', '.status.lock.kind', 'Who holds the state: user, run or recovery'),
      column('Run', '.status.currentRun', 'Run that may change it'),
      column('Drift', '.status.drift.hasDrift', 'Whether what exists differs from the state'),
      column('Resources', '.status.stateVersion.resourceCount', 'Resources in the state', 'integer'),
      AGE,
      MESSAGE,
    ],
    reviewed: true,
    access: [...ACCESS, { role: 'operator', verbs: WORKSPACE_VERBS }],
    selectable: ['.status.state'],
  },
  {
    ...TERRAFORM_KIND_NAMES.TerraformRun,
    description: 'One run of a Workspace: a plan, and what follows from it.',
    spec: runSpecSchema,
    status: runStatusSchema,
    columns: [
      column('Workspace', '.spec.workspaceRef.name', 'The workspace'),
      column('Type', '.spec.type', 'plan_and_apply, plan_only or drift_check'),
      column('Phase', '.status.phase', 'Phase of the run'),
      column('Stage', '.status.stage', 'Stage that it has reached'),
      column('Add', '.status.changesAdd', 'Resources to create', 'integer'),
      column('Change', '.status.changesChange', 'Resources to change', 'integer'),
      column('Destroy', '.status.changesDestroy', 'Resources to destroy', 'integer'),
      AGE,
      { ...column('Message', '.status.message', 'What happened'), priority: 1 },
    ],
    reviewed: true,
    access: [
      ...ACCESS,
      { role: 'operator', verbs: ['create', 'patch'], why: 'patch: the annotations that answer a run.' },
    ],
    selectable: ['.spec.workspaceRef.name', '.status.phase'],
  },
  {
    ...TERRAFORM_KIND_NAMES.RunTask,
    description: 'A service that looks at runs and may stop them.',
    spec: runTaskSpecSchema,
    status: readyStatusSchema,
    columns: [column('Endpoint', '.spec.endpointUrl', 'Where it is called'), ...READY, AGE, MESSAGE],
    reviewed: true,
    access: ACCESS,
    selectable: [],
  },
  {
    ...TERRAFORM_KIND_NAMES.RunTrigger,
    description: 'Starts a run of a Workspace after one of another.',
    spec: runTriggerSpecSchema,
    status: readyStatusSchema,
    columns: [
      column('Source', '.spec.source.name', 'The workspace that it follows'),
      column('Target', '.spec.target.name', 'The workspace that it starts a run of'),
      ...READY,
      AGE,
      MESSAGE,
    ],
    reviewed: true,
    access: ACCESS,
    selectable: ['.spec.target.name'],
  },
  {
    ...TERRAFORM_KIND_NAMES.NotificationTarget,
    description: 'Somebody who is told of runs.',
    spec: notificationTargetSpecSchema,
    status: readyStatusSchema,
    columns: [column('Type', '.spec.notificationType', 'webhook or lark_robot'), ...READY, AGE, MESSAGE],
    reviewed: true,
    access: ACCESS,
    selectable: [],
  },
] as const satisfies readonly KindDescriptor[];
