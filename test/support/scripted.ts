/**
 * A worker on the real Temporal server whose activities follow a script: for tests of order, failure, cancel and undo,
 * where it matters what the workflow does with an outcome and not how the outcome came about.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CancelledFailure, Context } from '@temporalio/activity';
import { Client, Connection } from '@temporalio/client';
import { endOf, updateOf } from '../../crd-bridge/plan/status/mirror-row.js';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { ACTION_ACTIVITIES } from '../../api/plan/actions/activities.js';
import type { ActionInput, StageInput, WorkflowInput } from '../../api/plan/snapshot/run.js';
import type { StageStatus } from '../../api/plan/types.js';
import { createRuns } from '../../client/runs/runs.js';
import { deploymentOptions } from '../../worker/build.js';
import type { Build } from '../../worker/build.js';
import { taskQueues } from '../../workflows/core/contract.js';
import type { MirrorPace } from '../../workflows/core/contract.js';
import type { RunInput, RunResult } from '../../workflows/plan/contract.js';
import type {
  ActionActivities,
  ActionOutcome,
  ActionTask,
  CaptureOutcome,
  CleanupOutcome,
  Decision,
  EvaluateOutcome,
  TargetsOutcome,
  WorkerActivities,
} from '../../workflows/plan/contract-tasks.js';
import type { FinishUpdate, MirrorUpdate, StageUpdate } from '../../workflows/plan/contract-updates.js';
import type { BridgeActivities, NestedState } from '../../workflows/plan/contract-bridge.js';

/**
 * What an action does: an outcome, or a function of the attempt. Unnamed actions succeed. `decide NAME` is what is
 * decided before a step of the workflow's own, `targets NAME` the clusters of an action per cluster, whose parts are
 * named `NAME@CLUSTER`.
 */
export type Script = Record<
  string,
  | Partial<ActionOutcome>
  | CleanupOutcome
  | Decision
  | TargetsOutcome
  | ((task: ActionTask) => Promise<Partial<ActionOutcome>>)
>;

/** What happened, in order. */
export interface Recording {
  events: string[];
  mirrors: MirrorUpdate[];
  /** What the bridge answers to a mirror. */
  pace?: MirrorPace;
  finish?: FinishUpdate;
}

export interface ScriptedWorker {
  client: Client;
  /** Of the runs that it carries on. */
  cluster: string;
  /** What their activities follow, by uid. */
  scripts: Map<string, { script: Script; recording: Recording }>;
  /** Signals any workflow, such as a stage of a run. */
  signal(workflowId: string, name: string, argument: unknown): Promise<void>;
  run(input: Partial<RunInput>, script?: Script): Promise<ScriptedRun>;
  close(): Promise<void>;
}

export interface ScriptedRun {
  handle: WorkflowHandle;
  recording: Recording;
  result(): Promise<RunResult & { stages: StageStatus[] }>;
}

/** Bounds of scripted runs. */
export const BOUNDS = { undoStepMs: 60_000, settleMs: 60_000, pauseReminderMs: 500, lastAttemptMs: 500 };

const DEFAULTS = {
  failurePolicy: 'Stop',
  onFailure: 'Stop',
  maxConcurrentStages: 1,
  stages: [],
  undo: [],
  mirror: { debounceMs: 50, intervalMs: 100, envelope: true },
  bounds: BOUNDS,
  searchAttributes: false,
} satisfies Partial<RunInput>;

let installed = false;

/**
 * Starts a worker.
 *
 * @param options.build the build that it is; default: it has no name
 * @param options.beside another one, whose runs it carries on too
 */
export async function startScriptedWorker(
  address: string,
  namespace: string,
  { build, beside }: { build?: Build; beside?: ScriptedWorker } = {},
): Promise<ScriptedWorker> {
  if (!installed) {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    installed = true;
  }
  const cluster = beside?.cluster ?? randomUUID().slice(0, 8);
  const queues = taskQueues(cluster);
  const scripts: ScriptedWorker['scripts'] = beside?.scripts ?? new Map();
  const of = (uid: string): { script: Script; recording: Recording } => {
    const entry = scripts.get(uid);
    if (entry === undefined) throw new Error(`no script for ${uid}`);
    return entry;
  };

  async function act(task: ActionTask): Promise<ActionOutcome> {
    const { script, recording } = of(task.run.uid);
    const { cluster } = task.at;
    const name = cluster === undefined ? task.name : `${task.name}@${cluster}`;
    const label = task.direction === 'undo' ? `undo ${name}` : name;
    recording.events.push(`start ${label}`);
    const step = script[label];
    const ended = typeof step === 'function' ? await step(task) : (step ?? {});
    const outcome = { phase: 'Succeeded', round: task.round, retryCount: 0, ...ended } as ActionOutcome;
    if (outcome.phase === 'Failed') {
      Object.assign(outcome, { reason: 'Test', message: 'as scripted', effect: 'Done', ...ended });
    }
    recording.events.push(`${outcome.phase} ${label}`);
    return outcome;
  }

  const activities: WorkerActivities = {
    ...(Object.fromEntries(ACTION_ACTIVITIES.map((name) => [name, act])) as unknown as ActionActivities),
    decide: (task): Promise<Decision> => {
      const { script, recording } = of(task.run.uid);
      recording.events.push(`decide ${task.name}`);
      const decision = script[`decide ${task.name}`];
      if (decision === undefined) throw new Error(`no decision for ${task.name}`);
      return Promise.resolve(decision as unknown as Decision);
    },
    targets: (task): Promise<TargetsOutcome> => {
      const { script, recording } = of(task.run.uid);
      recording.events.push(`targets ${task.name}`);
      const found = script[`targets ${task.name}`];
      if (found === undefined) throw new Error(`no clusters for ${task.name}`);
      return Promise.resolve(found as unknown as TargetsOutcome);
    },
    capture: (task): Promise<CaptureOutcome> => {
      of(task.run.uid).recording.events.push(`capture ${task.name}`);
      return Promise.resolve({ kind: 'captured', prior: { name: 'prior', key: task.name, digest: 'd' } });
    },
    cleanUp: (task): Promise<CleanupOutcome> => {
      const { script, recording } = of(task.run.uid);
      const label = `clean ${task.moment} ${task.name}`;
      recording.events.push(label);
      return Promise.resolve((script[label] ?? { kind: 'done', message: 'removed it' }) as CleanupOutcome);
    },
    settle: (task): Promise<ActionOutcome> => {
      const { cluster } = task.at;
      const name = cluster === undefined ? task.name : `${task.name}@${cluster}`;
      of(task.run.uid).recording.events.push(`settle ${name}`);
      return Promise.resolve({
        phase: 'Failed',
        reason: 'Interrupted',
        message: 'settled',
        effect: 'Unknown',
        round: task.round,
        retryCount: 0,
      });
    },
    // What counts as the bridge's is a matter of the real activity: see test/field/forged-runs.test.ts.
    vouch: () => Promise.resolve({ kind: 'vouched' }),
    evaluate: (task): Promise<EvaluateOutcome> =>
      Promise.resolve(
        task.expression === 'broken' ? { error: 'no such thing' } : { value: task.expression === 'true' },
      ),
  };
  const bridge: BridgeActivities = {
    async nestedPlan(look) {
      const { script, recording } = of(look.task.run.uid);
      const label = look.task.direction === 'undo' ? `undo ${look.task.name}` : look.task.name;
      recording.events.push(`look ${label}${look.stop === true ? ' stop' : ''}`);
      const step = script[`look ${label}`];
      if (typeof step !== 'function') throw new Error(`no look at ${label}`);
      return (await step(look as unknown as ActionTask)) as unknown as NestedState;
    },
    mirror: (said) => {
      const update = 'kind' in said ? updateOf(said) : said;
      const { recording } = of(update.run.uid);
      recording.mirrors.push(update);
      return Promise.resolve(recording.pace);
    },
    unfinished: (stage) => createRuns(client).unfinished(stage),
    finish: (said) => {
      const end = 'kind' in said ? endOf(said) : said;
      of(end.run.uid).recording.finish = end;
      return Promise.resolve();
    },
  };

  const bundle = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));
  const connection = await NativeConnection.connect({ address });
  const common = { connection, namespace, maxHeartbeatThrottleInterval: '200ms' } as const;
  const own = build === undefined ? {} : deploymentOptions({ ...build, deploymentName: `drover-${cluster}` });
  const workers = await Promise.all([
    Worker.create({
      ...common,
      ...own,
      taskQueue: queues.worker,
      workflowBundle: existsSync(bundle)
        ? { codePath: bundle }
        : await bundleWorkflowCode({
            workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
          }),
      activities,
    }),
    Worker.create({ ...common, ...own, taskQueue: queues.waits, activities: { ...activities } }),
    Worker.create({ ...common, ...own, taskQueue: queues.urgent, activities: { ...activities } }),
    Worker.create({ ...common, taskQueue: queues.bridge, activities: bridge }),
  ]);
  const running = Promise.all(workers.map((worker) => worker.run()));
  const client = new Client({ connection: await Connection.connect({ address }), namespace });

  return {
    client,
    cluster,
    scripts,
    async run(input, script = {}) {
      const uid = randomUUID();
      const recording: Recording = { events: [], mirrors: [] };
      scripts.set(uid, { script, recording });
      const full: RunInput = {
        ...DEFAULTS,
        startDeadline: new Date(Date.now() + 60_000).toISOString(),
        ...input,
        run: {
          cluster,
          namespace: 'test',
          name: 'run',
          uid,
          plan: { name: 'plan', namespace: 'test', uid: 'plan-uid' },
          operation: 'Execute',
          runMode: 'Planned',
          snapshot: { name: 's', namespace: 'test', digest: 'd', parts: 1 },
          ...input.run,
        },
      };
      full.run.uid = uid;
      const handle = await client.workflow.start('drPlanExecution', {
        workflowId: `test/${uid}`,
        taskQueue: queues.worker,
        args: [full],
      });
      return {
        handle,
        recording,
        async result() {
          const result = (await handle.result()) as RunResult;
          const stages: StageStatus[] = [];
          for (const update of [
            ...recording.mirrors,
            ...(recording.finish === undefined ? [] : [recording.finish]),
          ]) {
            for (const stage of update.stages) stages[stage.index] = merged(stages[stage.index], stage);
          }
          return { ...result, stages };
        },
      };
    },
    signal: (workflowId, name, argument) => client.workflow.getHandle(workflowId).signal(name, argument),
    async close() {
      for (const worker of workers) worker.shutdown();
      await running;
      await connection.close();
      await client.connection.close();
    },
  };
}

/** Lays an update over what is known, as status does. */
function merged(known: StageStatus | undefined, update: StageUpdate): StageStatus {
  const workflows = [...(known?.workflowExecutions ?? [])];
  for (const change of update.changes ?? []) {
    const actionStatuses = [...(workflows[change.index]?.actionStatuses ?? [])];
    for (const item of change.actions) actionStatuses[item.index] = item.status;
    workflows[change.index] = { ...change.status, actionStatuses };
  }
  return update.changes === undefined && update.told !== true
    ? update.status
    : { ...update.status, workflowExecutions: workflows };
}

/** An action of a scripted run. */
export const action = (name: string, extra: Partial<ActionInput> = {}): ActionInput => ({
  name,
  type: 'HTTP',
  dependsOn: [],
  timeoutMs: 60_000,
  retry: { limit: 0, intervalMs: 100, backoffMultiplier: 2, maxIntervalMs: 1000 },
  capture: false,
  interruptible: true,
  uses: [],
  ...extra,
});

/** A workflow of a scripted run; strings are actions with defaults. */
export const workflow = (
  actions: (string | ActionInput)[],
  extra: Partial<WorkflowInput> = {},
): WorkflowInput => ({
  ref: { name: 'wf', namespace: 'test' },
  failurePolicy: 'FailFast',
  actions: actions.map((item) => (typeof item === 'string' ? action(item) : item)),
  ...extra,
});

/** Stages of a scripted run, numbered by their place. */
export const stages = (...list: (Partial<StageInput> & { name: string })[]): StageInput[] =>
  list.map((stage, index) => ({
    index,
    parallel: false,
    dependsOn: [],
    failurePolicy: 'Stop',
    workflows: [],
    ...stage,
  }));

/** Waits until a run has recorded an event; says what it has recorded when it never does. */
export async function until(run: ScriptedRun, event: string): Promise<void> {
  for (let i = 0; i < 400; i += 1) {
    if (run.recording.events.includes(event)) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`never: ${event}; saw ${run.recording.events.join(', ')}`);
}

/** Waits in an activity until it is cancelled or the time is over, as a well-behaved handler does. */
export async function untilCancelled(ms = 30_000): Promise<Partial<ActionOutcome>> {
  const context = Context.current();
  const beat = setInterval(() => {
    context.heartbeat();
  }, 100);
  try {
    await Promise.race([context.cancelled, new Promise((resolve) => setTimeout(resolve, ms).unref())]);
    return {};
  } catch (error) {
    if (error instanceof CancelledFailure)
      return { phase: 'Failed', reason: 'Cancelled', message: 'cancelled' };
    throw error;
  } finally {
    clearInterval(beat);
  }
}

/** Phases of all items, as `stage=Phase(workflow=Phase(action=Phase,…),…)`. */
export const phasesOf = (list: readonly StageStatus[]): string[] =>
  list.map(
    (stage) =>
      `${stage.name}=${stage.phase}(${(stage.workflowExecutions ?? [])
        .map(
          (wf) =>
            `${wf.phase}:${(wf.actionStatuses ?? []).map((item) => `${item.name}=${item.phase}${item.reason === undefined ? '' : `/${item.reason}`}`).join(',')}`,
        )
        .join(' | ')})`,
  );
