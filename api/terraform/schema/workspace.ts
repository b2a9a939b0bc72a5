import { z } from 'zod';
import { cel, conditionsSchema, duration, time } from '../../core/schema.js';
import type { KubernetesObject } from '../../core/schema.js';
import {
  configurationSchema,
  DEFAULT_EVENTS,
  ENFORCEMENT_LEVELS,
  EVENTS,
  objectName,
  TASK_STAGES,
  variableSchema,
} from './common.js';

/** States of a workspace, after its newest run (T3.6). */
export const WORKSPACE_STATES = [
  'created',
  'planning',
  'plan_done',
  'waiting_apply',
  'applying',
  'completed',
  'failed',
  'needs_reconcile',
] as const;

const clock = (text: string) =>
  z
    .string()
    .regex(/^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$/, 'must be a time of day such as 07:00 or 22:30:00')
    .describe(text);

const names = (text: string) => z.array(z.string().min(1).max(253)).max(100).optional().describe(text);

const approvalSchema = z
  .object({
    approvers: z
      .object({
        users: names('Users, by name.'),
        groups: names('Groups, by name.'),
      })
      .optional()
      .describe('Who may answer. Absent: whoever has the verb approve on the workspace.'),
    quorum: z.int().min(1).max(10).optional().describe('How many have to approve (default 1).'),
    excludeRequester: z
      .boolean()
      .optional()
      .describe('Whether who asked for the run may not approve it (default false).'),
    timeout: duration(
      'How long a run waits for an answer before it is cancelled (default 24h, at most 720h).',
    )
      .meta(
        cel({
          rule: "duration(self) > duration('0s') && duration(self) <= duration('720h')",
          message: 'must be more than 0s and at most 720h',
        }),
      )
      .optional(),
  })
  .describe('What approves an apply.');

const remoteDataSchema = z.object({
  dataName: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_-]*$/, 'must be a name of the engine: letters, digits, _ and -')
    .max(253)
    .describe('Name of the data source terraform_remote_state.'),
  sourceWorkspace: z
    .string()
    .regex(
      /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?(\/[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$/,
      'must be the name of a workspace, or namespace/name',
    )
    .max(317)
    .describe('The workspace whose outputs it has: a name, or namespace/name.'),
});

const runtimeFields = {
  engine: z.enum(['terraform', 'opentofu']).optional().describe('The program (default terraform).'),
  terraformVersion: z
    .string()
    .regex(
      /^(latest|[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?)$/,
      'must be latest or a version such as 1.11.4',
    )
    .max(64)
    .optional()
    .describe('Exact version of the engine, or latest: the newest on the host that runs it (default).'),
  configuration: configurationSchema,
  workdir: z
    .string()
    .regex(/^([^/\\.][^/\\]*)(\/[^/\\.][^/\\]*)*$/, 'must be a relative path without . and ..')
    .max(255)
    .optional()
    .describe('Folder in the configuration that the engine runs in (default: its root).'),
  variables: z
    .array(variableSchema)
    .max(500)
    .optional()
    .describe('Variables; one of a key and type. Those of a run win.'),
  serviceAccountName: objectName(
    'Account that reads configuration, variables and outputs of others, and in k8s runs the engine.',
  ).optional(),
} as const;

const modeFields = {
  executionMode: z
    .enum(['local', 'agent', 'k8s'])
    .optional()
    .describe(
      'Where the engine runs: local (default, beside the worker), agent (a host of a pool) or k8s (a Job).',
    ),
  agentPool: objectName('Pool of hosts; for executionMode agent.').optional(),
  job: z
    .object({
      image: z.string().min(1).max(1024).describe('Image with the engine and the runner.'),
      resources: z
        .object({
          requests: z.record(z.string(), z.string()).optional().describe('What is set aside.'),
          limits: z.record(z.string(), z.string()).optional().describe('What it may use at most.'),
        })
        .optional()
        .describe('Resources of the container.'),
      terminationGracePeriodSeconds: z
        .int()
        .min(60)
        .max(86_400)
        .optional()
        .describe('What an interrupted engine may take to save its state (default 3600).'),
    })
    .optional()
    .describe('The Job; for executionMode k8s.'),
  autoApply: z
    .boolean()
    .optional()
    .describe('Whether plans are applied without an approval (default false).'),
  planOnly: z.boolean().optional().describe('Whether nothing may be applied here (default false).'),
  approval: approvalSchema.optional(),
  maxConcurrentPlans: z.int().min(1).max(50).optional().describe('Runs that only plan, at once (default 5).'),
  planTimeout: duration('How long a plan may take before it is interrupted (default 1h).').optional(),
  applyTimeout: duration('How long an apply may take before it is interrupted (default 24h).').optional(),
  lockTimeout: duration(
    "How long a run waits for a person's engine that holds the state (default 10m).",
  ).optional(),
  locked: z.boolean().optional().describe('Whether nothing is begun here, plans included (default false).'),
  lockReason: z.string().max(1000).optional().describe('Why it is locked, for whoever waits.'),
} as const;

const surroundingFields = {
  outputsSharing: z
    .enum(['none', 'all', 'specific'])
    .optional()
    .describe('Who may read the outputs: none (default), all workspaces of the cluster, or outputsAllowed.'),
  outputsAllowed: z
    .array(z.string().min(1).max(317))
    .max(100)
    .optional()
    .describe('Workspaces that may read the outputs: name or namespace/name.'),
  remoteData: z
    .array(remoteDataSchema)
    .max(50)
    .optional()
    .describe('Outputs of other workspaces, as data sources.'),
  runTasks: z
    .array(
      z.object({
        name: objectName('Name of the RunTask.'),
        stages: z.array(z.enum(TASK_STAGES)).min(1).max(4).describe('When it is called.'),
        enforcementLevel: z
          .enum(ENFORCEMENT_LEVELS)
          .optional()
          .describe('advisory (default): shown; mandatory: a run fails that it does not pass.'),
        enabled: z.boolean().optional().describe('Whether it is called (default true).'),
      }),
    )
    .max(50)
    .optional()
    .describe('Tasks that are called. An entry stands in the place of a global task of the same name.'),
  notifications: z
    .array(
      z.object({
        name: objectName('Name of the NotificationTarget.'),
        events: z
          .array(z.enum(EVENTS))
          .max(EVENTS.length)
          .optional()
          .describe(`What it is told of (default ${DEFAULT_EVENTS.join(', ')}).`),
        enabled: z.boolean().optional().describe('Whether it is told (default true).'),
      }),
    )
    .max(50)
    .optional()
    .describe('Who is told of runs.'),
  driftCheckEnabled: z
    .boolean()
    .optional()
    .describe('Whether what exists is compared with the state from time to time (default true).'),
  driftCheckStartTime: clock('Begin of the window for these checks (default 07:00:00).').optional(),
  driftCheckEndTime: clock(
    'End of the window; before its begin: on the next day (default 22:00:00).',
  ).optional(),
  driftCheckInterval: z
    .int()
    .min(15)
    .max(525_600)
    .optional()
    .describe('Minutes between two checks (default 1440).'),
  driftCheckTimeZone: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Time zone of the window, such as Europe/Berlin (default UTC).'),
  deletionPolicy: z
    .enum(['Refuse', 'Orphan'])
    .optional()
    .describe(
      'Whether a workspace whose state has resources can be deleted: Refuse (default), or Orphan: they stay, and the state is kept for 30 days.',
    ),
  historyLimit: z.int().min(1).max(1000).optional().describe('Ended runs that are kept (default 50).'),
} as const;

export const workspaceSpecSchema = z
  .object({ ...runtimeFields, ...modeFields, ...surroundingFields })
  .meta(
    cel(
      {
        rule: "has(self.agentPool) == (has(self.executionMode) && self.executionMode == 'agent')",
        message: 'agentPool belongs to executionMode agent, which needs it',
      },
      {
        rule: "has(self.job) == (has(self.executionMode) && self.executionMode == 'k8s')",
        message: 'job belongs to executionMode k8s, which needs it',
      },
      {
        rule: "!has(self.outputsAllowed) || (has(self.outputsSharing) && self.outputsSharing == 'specific')",
        message: 'outputsAllowed belongs to outputsSharing specific',
      },
      {
        rule: '!(has(self.autoApply) && self.autoApply && has(self.planOnly) && self.planOnly)',
        message:
          'planOnly and autoApply exclude each other: nothing is applied in a workspace that only plans',
      },
      {
        rule: '!has(self.driftCheckStartTime) || !has(self.driftCheckEndTime) || self.driftCheckStartTime != self.driftCheckEndTime',
        message: 'driftCheckStartTime and driftCheckEndTime are the same: the window has no length',
      },
    ),
  )
  .describe('A configuration, its state, and how it is run.');
/** Spec of a Workspace. */
export type WorkspaceSpec = z.infer<typeof workspaceSpecSchema>;

export const inDoubtSchema = z.object({
  address: z.string().max(4096).describe('Address of the resource.'),
  action: z.string().max(32).describe('What was to happen to it.'),
  id: z.string().max(1024).optional().describe('Its id, where one is known.'),
});

export const workspaceStatusSchema = z
  .object({
    state: z.enum(WORKSPACE_STATES).optional().describe('State after the newest run.'),
    lock: z
      .object({
        kind: z.enum(['user', 'run', 'recovery']).describe('Who holds the state.'),
        holder: z.string().max(512).describe('Run, or person.'),
        since: time('Since when.'),
        reason: z.string().max(1000).optional().describe('Why, where somebody said so.'),
      })
      .optional()
      .describe('Who may change the state now; absent: nobody.'),
    stateVersion: z
      .object({
        serial: z.int().min(0).describe('Serial of the newest state.'),
        lineage: z.string().max(253).describe('Its lineage.'),
        turn: z.int().min(0).describe('Turn in which it was written.'),
        resourceCount: z.int().min(0).optional().describe('Resources in it.'),
      })
      .optional()
      .describe('The newest state.'),
    currentRun: z.string().max(253).optional().describe('Run that has the turn to change the state.'),
    waitingRuns: z.int().min(0).optional().describe('Runs that wait for their turn.'),
    drift: z
      .object({
        hasDrift: z.boolean().describe('Whether something was found to be different.'),
        driftCount: z.int().min(0).optional().describe('How many resources differ.'),
        totalResources: z.int().min(0).optional().describe('Of how many.'),
        checkStatus: z
          .enum(['pending', 'running', 'success', 'failed', 'skipped'])
          .describe('How the last check went.'),
        errorMessage: z.string().max(4096).optional().describe('Why it failed or was skipped.'),
        lastCheckAt: time('When it was.'),
        digest: z
          .string()
          .max(64)
          .optional()
          .describe('Digest of what differs: tells a new drift from a known one.'),
        resources: z
          .array(z.string().max(4096))
          .max(50)
          .optional()
          .describe('Addresses of what differs; 50 at most.'),
      })
      .optional()
      .describe('What the last check for drift found.'),
    inDoubt: z
      .array(inDoubtSchema)
      .max(200)
      .optional()
      .describe('What may or may not exist after an apply whose end is unknown.'),
    observedGeneration: z.int().optional().describe('Generation of the spec that the status speaks of.'),
    conditions: conditionsSchema.optional(),
    temporal: z
      .object({
        epoch: z.int().min(1).describe('Number of the workflow in the life of the object.'),
        workflowId: z.string().max(1000).describe('Its id.'),
        firstRunId: z.string().max(64).describe('The run it began with.'),
        namespaceId: z.string().max(64).optional().describe('Namespace of Temporal, by id.'),
      })
      .optional()
      .describe('The workflow that looks after the workspace.'),
  })
  .describe('What is known of a workspace.');
/** Status of a Workspace. */
export type WorkspaceStatus = z.infer<typeof workspaceStatusSchema>;

/** A Workspace. */
export type Workspace = KubernetesObject<WorkspaceSpec, WorkspaceStatus>;
