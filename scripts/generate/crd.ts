import type { z } from 'zod';
import { GROUP, PLURALS, POLICY_PLURAL, VERSION } from '../../api/core/group.js';
import type { Kind } from '../../api/core/group.js';
import { executionSpecSchema, executionStatusSchema } from '../../api/plan/schema/execution.js';
import { planSpecSchema, planStatusSchema } from '../../api/plan/schema/plan.js';
import { policySpecSchema } from '../../api/plan/schema/policy.js';
import { workflowSpecSchema, workflowStatusSchema } from '../../api/plan/schema/workflow.js';
import { structuralSchema } from './structural.js';
import type { StructuralSchema } from './structural.js';

interface PrinterColumn {
  name: string;
  type: 'string' | 'date';
  jsonPath: string;
  description: string;
  /** 1 = only with `-o wide`. */
  priority?: 1;
}

/** What a kind is besides its schemas. */
export interface KindRow {
  kind: Kind | 'DRPolicy';
  shortName: string;
  description: string;
  spec: z.ZodType;
  /** Absent: the kind has none. */
  status?: z.ZodType;
  /** Default Namespaced. */
  scope?: 'Cluster';
  columns: PrinterColumn[];
  /** Paths that field selectors may use. */
  selectable: string[];
}

const ready = (field: string): string => `.status.conditions[?(@.type=="Ready")].${field}`;
const AGE: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation',
};

/** Resource name of a kind. */
export const pluralOf = (kind: KindRow['kind']): string =>
  kind === 'DRPolicy' ? POLICY_PLURAL : PLURALS[kind];

/** The kinds. */
export const KINDS: readonly KindRow[] = [
  {
    kind: 'DRWorkflow',
    shortName: 'drwf',
    description: 'A reusable list of disaster-recovery actions.',
    spec: workflowSpecSchema,
    status: workflowStatusSchema,
    columns: [
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Ready or Invalid' },
      { name: 'Reason', type: 'string', jsonPath: ready('reason'), description: 'Why' },
      AGE,
      {
        name: 'Message',
        type: 'string',
        jsonPath: ready('message'),
        description: 'What was found',
        priority: 1,
      },
    ],
    selectable: ['.status.phase'],
  },
  {
    kind: 'DRPlan',
    shortName: 'drp',
    description: 'A disaster-recovery plan: stages of workflows, with their order and parameters.',
    spec: planSpecSchema,
    status: planStatusSchema,
    columns: [
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Ready, Executed or Invalid' },
      { name: 'Reason', type: 'string', jsonPath: ready('reason'), description: 'Why' },
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
      {
        name: 'Message',
        type: 'string',
        jsonPath: ready('message'),
        description: 'What was found',
        priority: 1,
      },
    ],
    selectable: ['.status.phase'],
  },
  {
    kind: 'DRPlanExecution',
    shortName: 'drpx',
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
    selectable: ['.spec.planRef', '.status.phase'],
  },
  {
    kind: 'DRPolicy',
    shortName: 'drpol',
    description: 'What the plans of namespaces may do. Has no namespace itself.',
    scope: 'Cluster',
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
    selectable: [],
  },
];

/** The schema of a kind, as in its CRD. */
export function kindSchema(row: KindRow): StructuralSchema {
  return {
    type: 'object',
    description: row.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'API version of the object.' },
      kind: { type: 'string', description: 'Kind of the object.' },
      metadata: { type: 'object' },
      spec: structuralSchema(row.spec),
      ...(row.status !== undefined && { status: structuralSchema(row.status) }),
    },
  };
}

/** The CustomResourceDefinition of a kind. */
export function crd(row: KindRow): object {
  const plural = pluralOf(row.kind);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: row.scope ?? 'Namespaced',
      names: {
        kind: row.kind,
        listKind: `${row.kind}List`,
        plural,
        singular: row.kind.toLowerCase(),
        shortNames: [row.shortName],
        categories: ['dr'],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          ...(row.status !== undefined && { subresources: { status: {} } }),
          additionalPrinterColumns: row.columns,
          ...(row.selectable.length > 0 && {
            selectableFields: row.selectable.map((jsonPath) => ({ jsonPath })),
          }),
          schema: { openAPIV3Schema: kindSchema(row) },
        },
      ],
    },
  };
}
