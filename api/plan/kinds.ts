import { ANNOTATIONS } from '../core/group.js';
import { PLAN_VERBS } from './authority.js';
import type { Access, KindDescriptor, PrinterColumn } from '../core/kind-descriptor.js';
import { DR_KIND_NAMES, type DrKind } from './kind-names.js';
import { executionSpecSchema, executionStatusSchema } from './schema/execution.js';
import { planSpecSchema, planStatusSchema } from './schema/plan.js';
import { policySpecSchema } from './schema/policy.js';
import { workflowSpecSchema, workflowStatusSchema } from './schema/workflow.js';

const ready = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;
const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation',
};

const REASON: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  jsonPath: ready('reason'),
  description: 'Why',
};
const MESSAGE: PrinterColumn = {
  name: 'Message',
  type: 'string',
  jsonPath: ready('message'),
  description: 'What was found',
  priority: 1,
};

const READ = ['get', 'list', 'watch'] as const;
const READERS: readonly Access[] = (['bridge', 'view', 'operator', 'driller'] as const).map((role) => ({
  role,
  verbs: READ,
}));
const AUTHORS: Access = { role: 'edit', verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'] };
const STATUS: Access = { role: 'bridge', part: 'status', verbs: ['patch'] };

/** The kinds of DR plans. */
export const DR_KINDS = [
  {
    ...DR_KIND_NAMES.DRWorkflow,
    description: 'A reusable list of disaster-recovery actions.',
    spec: workflowSpecSchema,
    status: workflowStatusSchema,
    columns: [
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Ready or Invalid' },
      REASON,
      AGE,
      MESSAGE,
    ],
    reviewed: true,
    access: [...READERS, AUTHORS, STATUS],
    selectable: ['.status.phase'],
  },
  {
    ...DR_KIND_NAMES.DRPlan,
    description: 'A disaster-recovery plan: stages of workflows, with their order and parameters.',
    spec: planSpecSchema,
    status: planStatusSchema,
    columns: [
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Ready, Executed or Invalid' },
      REASON,
      {
        name: 'Running',
        type: 'string',
        jsonPath: '.status.currentExecution.name',
        description: 'Execution that runs',
      },
      {
        name: 'Last',
        type: 'string',
        jsonPath: '.status.lastExecutionRef',
        description: 'Last successful execution',
      },
      {
        name: 'Last-Time',
        type: 'date',
        jsonPath: '.status.lastExecutionTime',
        description: 'End of the last successful execution',
      },
      AGE,
      {
        name: 'Account',
        type: 'string',
        jsonPath: '.spec.serviceAccountName',
        description: 'ServiceAccount of the actions',
        priority: 1,
      },
      MESSAGE,
    ],
    reviewed: true,
    access: [
      ...READERS,
      AUTHORS,
      STATUS,
      {
        role: 'bridge',
        verbs: ['patch'],
        why: 'Labels on plans; labels, stamps and the finalizer on executions.',
      },
      ...(['edit', 'operator'] as const).map((role) => ({ role, verbs: PLAN_VERBS })),
      { role: 'driller', verbs: ['drill', 'cancel'] },
    ],
    selectable: ['.status.phase'],
  },
  {
    ...DR_KIND_NAMES.DRPlanExecution,
    description: 'One run of a DRPlan, or the revert of one.',
    spec: executionSpecSchema,
    status: executionStatusSchema,
    columns: [
      { name: 'Plan', type: 'string', jsonPath: '.spec.planRef', description: 'The plan' },
      {
        name: 'Operation',
        type: 'string',
        jsonPath: '.spec.operationType',
        description: 'Execute or Revert',
      },
      {
        name: 'Phase',
        type: 'string',
        jsonPath: '.status.phase',
        description: 'Pending, Running, Succeeded, Failed or Cancelled',
      },
      {
        name: 'Progress',
        type: 'string',
        jsonPath: '.status.summary.progress',
        description: 'Ended actions of all',
      },
      { name: 'Reason', type: 'string', jsonPath: '.status.reason', description: 'Reason of the end' },
      { name: 'Started', type: 'date', jsonPath: '.status.startTime', description: 'Start of the run' },
      { name: 'Duration', type: 'string', jsonPath: '.status.duration', description: 'Time it took' },
      AGE,
      {
        name: 'Target',
        type: 'string',
        jsonPath: '.spec.revertExecutionRef',
        description: 'Execution that is undone',
        priority: 1,
      },
      {
        name: 'Reverted-By',
        type: 'string',
        jsonPath: '.status.revertedBy.name',
        description: 'Execution that undid this one',
        priority: 1,
      },
      {
        name: 'Workflow-ID',
        type: 'string',
        jsonPath: '.status.temporal.workflowId',
        description: 'Id of the run in Temporal',
        priority: 1,
      },
      {
        name: 'Message',
        type: 'string',
        jsonPath: '.status.message',
        description: 'What happened',
        priority: 1,
      },
    ],
    reviewed: true,
    access: [
      ...READERS,
      AUTHORS,
      STATUS,
      {
        role: 'bridge',
        verbs: ['patch'],
        why: 'Labels on plans; labels, stamps and the finalizer on executions.',
      },
      {
        role: 'bridge',
        verbs: ['create'],
        why: 'Executions of nested plans, owned by the execution that they are part of.',
      },
      {
        role: 'bridge',
        verbs: ['delete'],
        why: 'Removes ended executions where historyLimit or ttlSecondsAfterFinished asks for it.',
      },
      { role: 'bridge', part: 'finalizers', verbs: ['update'] },
      ...(['operator', 'driller'] as const).map((role) => ({
        role,
        verbs: ['create', 'patch'],
        why: 'patch: the annotations that cancel a run and answer an approval.',
      })),
    ],
    stamps: {
      // An answer to an approval counts only once it is stamped, so it fails closed too.
      guarded: [
        ANNOTATIONS.requestedBy,
        ANNOTATIONS.requester,
        ANNOTATIONS.authorizedAs,
        ANNOTATIONS.cancelRequestedBy,
        ANNOTATIONS.nestedIn,
        ANNOTATIONS.key,
        ANNOTATIONS.admission,
        ANNOTATIONS.stamp,
        ANNOTATIONS.approvals,
        ANNOTATIONS.approve,
        ANNOTATIONS.reject,
      ],
      cancel: ANNOTATIONS.cancel,
    },
    selectable: ['.spec.planRef', '.status.phase'],
  },
  {
    ...DR_KIND_NAMES.DRPolicy,
    description: 'What the plans of namespaces may do. Has no namespace itself.',
    spec: policySpecSchema,
    columns: [
      {
        name: 'Namespaces',
        type: 'string',
        jsonPath: '.spec.namespaces',
        description: 'Namespaces of plans',
      },
      { name: 'Allow', type: 'string', jsonPath: '.spec.allow', description: 'Escalations that are allowed' },
      AGE,
    ],
    reviewed: true,
    access: [
      { role: 'bridge', verbs: READ, why: 'What plans may do.' },
      { role: 'worker', verbs: ['list'], why: 'What plans may do: asked again before each action.' },
      {
        role: 'view',
        verbs: READ,
        why: 'Of use to those who view the whole cluster. Nobody but administrators may write them.',
      },
    ],
    selectable: [],
  },
] as const satisfies readonly KindDescriptor[];

/** What is said of a kind. */
export function drKind(kind: DrKind): KindDescriptor {
  const found = DR_KINDS.find((one) => one.kind === kind);
  if (found === undefined) throw new Error(`no kind ${kind}`);
  return found;
}
