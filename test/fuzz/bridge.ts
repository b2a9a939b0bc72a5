/** The bridge's own admission, checks and start, over an API server and a Temporal in memory. */
import { API_VERSION } from '../../api/core/group.js';
import type { Kind } from '../../api/core/group.js';
import { runWorkflowId } from '../../api/plan/naming.js';
import type { ActionStatus, DRPlan, DRPlanExecution, DRWorkflow, StageStatus } from '../../api/plan/types.js';
import { positionOf } from '../../api/plan/undo/undo.js';
import { createStarts } from '../../crd-bridge/plan/start/starts.js';
import type { CachedExecution } from '../../crd-bridge/plan/types.js';
import { createPlanKind } from '../../crd-bridge/plan/kinds/dr-plan.js';
import { createWorkflowKind } from '../../crd-bridge/plan/kinds/dr-workflow.js';
import { createReplica, speaksItself } from '../../crd-bridge/plan/testing/replicas.js';
import { createWorld, NAMESPACE } from '../../crd-bridge/plan/testing/world.js';
import { answer, readReview } from '../../crd-bridge/core/review.js';
import { createRules } from '../../crd-bridge/plan/review/rules.js';
import type { RunInput } from '../../workflows/plan/contract.js';
import type { Act, Ending } from './acts.js';
import type { Story } from './model.js';

/** What became of an object. */
export interface Told {
  kind: Kind;
  name: string;
  /** What admission said; empty when it was let in. */
  refused: string;
  /** What the bridge found wrong with it later. */
  wrong?: string | undefined;
  /** Of an execution: what was to become of it. */
  act?: Act;
  /** Of an execution whose run began. */
  isRevert?: boolean;
}

/** Tells a story to the bridge, object by object. What is not let in is not there for what comes later. */
export async function tell(story: Story): Promise<Told[]> {
  const world = createWorld();
  const started: RunInput[] = [];
  const start = world.runs.start.bind(world.runs);
  world.runs.start = (request) => {
    started.push(request.input);
    return start(request);
  };
  const { deps } = createReplica(world, {}, { empty: true });
  const { caches } = deps;
  const workflows = createWorkflowKind(deps);
  const plans = createPlanKind(deps, workflows);
  const rules = createRules(deps, { workflows, plans });
  const starts = createStarts(deps);
  const mirror = speaksItself(deps);
  const told: Told[] = [];

  /** Asks as the API server does: over JSON. */
  async function review(
    kind: Kind,
    object: { metadata: { name: string; namespace: string } },
  ): Promise<string> {
    const asked = JSON.parse(
      JSON.stringify({
        request: {
          uid: 'u',
          kind: { group: '', version: '', kind },
          operation: 'CREATE',
          namespace: object.metadata.namespace,
          userInfo: { username: 'alice', groups: ['system:authenticated'] },
          object,
        },
      }),
    ) as unknown;
    const request = readReview(asked);
    if (typeof request === 'string') throw new Error(`the review cannot be read: ${request}`);
    const response = await rules.validate(request);
    if (response === undefined) throw new Error('no response');
    JSON.stringify(answer(request, response));
    if (response.allowed) return '';
    if (response.message.trim() === '' || response.causes.length === 0) {
      throw new Error(`${kind} is refused without a reason`);
    }
    return response.message;
  }

  const make = (
    kind: Kind,
    { name, namespace = NAMESPACE, spec }: { name: string; namespace?: string; spec: unknown },
  ) => ({
    apiVersion: API_VERSION,
    kind,
    metadata: {
      name,
      namespace,
      uid: `${kind}-${name}`,
      generation: 1,
      creationTimestamp: new Date().toISOString(),
    },
    spec: JSON.parse(JSON.stringify(spec ?? null)) as never,
  });

  /** Asks, and stores what is let in. */
  async function create<T extends DRWorkflow | DRPlan | DRPlanExecution>(
    kind: Kind,
    part: { name: string; namespace?: string; spec: unknown },
    informer: { learn(object: T): void },
  ): Promise<{ told: Told; object?: T }> {
    const object = make(kind, part) as unknown as T;
    const entry: Told = { kind, name: part.name, refused: await review(kind, object as never) };
    told.push(entry);
    if (entry.refused !== '') return { told: entry };
    const stored = world.put(object);
    informer.learn(stored);
    return { told: entry, object: stored };
  }

  for (const part of story.workflows) {
    const { told: entry, object } = await create<DRWorkflow>('DRWorkflow', part, caches.workflows);
    if (object === undefined) continue;
    await workflows.reconcile(object);
    entry.wrong = readyOf(world.read<DRWorkflow>('DRWorkflow', `${part.name}`, part.namespace));
  }

  for (const part of story.plans) {
    const { told: entry, object } = await create<DRPlan>('DRPlan', part, caches.plans);
    if (object === undefined) continue;
    await plans.reconcile(object);
    entry.wrong = readyOf(world.read<DRPlan>('DRPlan', part.name));
  }

  for (const act of story.acts) await run(act);
  return told;

  /** An execution from its creation to the end of its run, which ends as the story says. */
  async function run(part: Act): Promise<void> {
    await nextMillisecond();
    const { told: entry, object } = await create<CachedExecution>('DRPlanExecution', part, caches.executions);
    entry.act = part;
    if (object === undefined) return;
    const decision = await starts.prepare(object);
    const input = (): RunInput | undefined => started.at(-1);
    const before = started.length;
    if (decision.kind === 'start') {
      const result = await decision.prepared.start();
      if (result.kind === 'started') {
        const { name, namespace, uid } = object.metadata;
        const workflowId = runWorkflowId({
          cluster: deps.cluster,
          namespace: namespace ?? '',
          name,
          uid: uid ?? '',
        });
        await decision.prepared.record({ workflowId, runId: result.runId });
      }
    }
    const { status } = world.read<DRPlanExecution>('DRPlanExecution', part.name);
    const own = started.length > before ? input() : undefined;
    if (own === undefined) {
      entry.wrong = `${decision.kind}: ${status?.reason ?? ''} ${status?.message ?? ''}`;
      return;
    }
    entry.isRevert = own.run.operation === 'Revert';
    const { ends } = part;
    if (ends.phase === 'Running') return;
    const steps = own.undo.flatMap((stage) => stage.steps.map((step) => positionOf(step.at)));
    if (entry.isRevert) entry.wrong = undoneTwice(part, steps);
    const undone = ends.phase === 'Succeeded' ? steps : steps.slice(0, Math.min(1, steps.length - 1));
    const at = new Date().toISOString();
    await mirror.finish({
      run: own.run,
      sequence: 1,
      phase: ends.phase,
      reason: ends.phase,
      message: '',
      startTime: at,
      completionTime: at,
      stages: ended(status?.stageStatuses ?? [], ends, at),
      ...(entry.isRevert && { undone, unreverted: steps.filter((one) => !undone.includes(one)) }),
    });
    const { phase } = world.read<DRPlanExecution>('DRPlanExecution', part.name).status ?? {};
    if (phase !== ends.phase) entry.wrong = `ends as ${phase}, and is to end as ${ends.phase}`;
    for (const found of world.runsById.values())
      if (found.memo?.uid === own.run.uid) found.state = 'Completed';
    // The plan's phase follows, as a watch would have it looked at again.
    const plan = world.read<DRPlan | undefined>('DRPlan', own.run.plan.name);
    if (plan !== undefined) caches.plans.learn(plan);
  }

  /** A revert that is run again leaves alone what has been undone. */
  function undoneTwice({ spec }: Act, steps: readonly string[]): string | undefined {
    const { revertExecutionRef = '' } = spec as { revertExecutionRef?: string };
    const { status } = world.read<DRPlanExecution>('DRPlanExecution', revertExecutionRef);
    const again = steps.filter((one) => status?.undone?.includes(one));
    return again.length === 0 ? undefined : `undoes again what is undone: ${again.join(', ')}`;
  }
}

/** The message of a condition that says no. */
function readyOf({ status }: DRWorkflow | DRPlan): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True'
    ? undefined
    : `${ready?.reason ?? 'not looked at'}: ${ready?.message ?? ''}`;
}

/** Runs of one plan never begin in the same millisecond: the lock is between them. */
async function nextMillisecond(): Promise<void> {
  for (const now = Date.now(); Date.now() === now;) await new Promise((resolve) => setImmediate(resolve));
}

/** Stages as the run leaves them: in one that does not go well an action breaks, and the rest is left out. */
function ended(
  stages: readonly StageStatus[],
  ends: Exclude<Ending, { phase: 'Running' }>,
  at: string,
): { index: number; status: StageStatus }[] {
  const over = { startTime: at, completionTime: at } as const;
  let nth = 0;
  const actionAfter = (action: ActionStatus): ActionStatus => {
    const index = nth;
    nth += 1;
    if (ends.phase === 'Succeeded') return { ...action, ...over, phase: 'Succeeded' };
    const reason = ends.phase === 'Cancelled' ? 'Cancelled' : 'DependencyFailed';
    const broken = ends.done ? 1 : 0;
    if (index < broken) return { ...action, ...over, phase: 'Succeeded', effect: 'Done' };
    return index === broken
      ? { ...action, ...over, phase: 'Failed', reason: 'Broken', message: 'broken', effect: ends.broken }
      : { ...action, ...over, phase: 'Skipped', reason };
  };
  return stages.map((stage, index) => {
    const workflowExecutions = (stage.workflowExecutions ?? []).map((workflow) => {
      const actionStatuses = (workflow.actionStatuses ?? []).map(actionAfter);
      return { ...workflow, ...over, phase: worst(actionStatuses), actionStatuses };
    });
    return { index, status: { ...stage, ...over, phase: worst(workflowExecutions), workflowExecutions } };
  });
}

function worst(parts: readonly { phase?: string | undefined }[]): 'Succeeded' | 'Failed' | 'Skipped' {
  const phases = new Set(parts.map(({ phase }) => phase));
  if (phases.has('Failed')) return 'Failed';
  return phases.has('Succeeded') || phases.size === 0 ? 'Succeeded' : 'Skipped';
}
