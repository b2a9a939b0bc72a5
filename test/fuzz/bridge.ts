/** The bridge's own admission, checks and start, over an API server and a Temporal in memory. */
import { API_VERSION } from '../../api/group.js';
import type { Kind } from '../../api/group.js';
import { runWorkflowId } from '../../api/naming.js';
import type { DRPlan, DRPlanExecution, DRWorkflow, StageStatus } from '../../api/types.js';
import { createAdmission } from '../../crd-bridge/execution/admission.js';
import { createMirror } from '../../crd-bridge/execution/mirror.js';
import type { CachedExecution } from '../../crd-bridge/execution/types.js';
import { createPlanKind } from '../../crd-bridge/kinds/dr-plan.js';
import { createWorkflowKind } from '../../crd-bridge/kinds/dr-workflow.js';
import { createReplica, createWorld, NAMESPACE } from '../../crd-bridge/testing/replicas.js';
import { PATHS } from '../../crd-bridge/webhook/configuration.js';
import { answer, readReview } from '../../crd-bridge/webhook/review.js';
import { createRules } from '../../crd-bridge/webhook/rules.js';
import type { RunInput } from '../../workflows/contract.js';
import type { Story } from './model.js';

/** What became of an object. */
export interface Told {
  kind: Kind;
  name: string;
  /** What admission said; empty when it was let in. */
  refused: string;
  /** What the bridge found wrong with it later. */
  wrong?: string | undefined;
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
  const admission = createAdmission(deps);
  const mirror = createMirror({ ...deps, onUpdate: () => undefined });
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
    const verdict = await rules(PATHS.validate, request);
    if (verdict === undefined) throw new Error('no verdict');
    JSON.stringify(answer(request, verdict));
    if (verdict.allowed) return '';
    if (verdict.message.trim() === '' || verdict.causes.length === 0) {
      throw new Error(`${kind} is refused without a reason`);
    }
    return verdict.message;
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

  const { told: entry, object: plan } = await create<DRPlan>('DRPlan', story.plan, caches.plans);
  if (plan !== undefined) {
    await plans.reconcile(plan);
    entry.wrong = readyOf(world.read<DRPlan>('DRPlan', story.plan.name));
  }

  await run(story.execute);
  await run(story.revert);
  return told;

  /** An execution from its creation to the end of its run, in which everything goes well. */
  async function run(part: Story['execute']): Promise<void> {
    const { told: entry, object } = await create<CachedExecution>('DRPlanExecution', part, caches.executions);
    if (object === undefined) return;
    const admitted = await admission.admit(object);
    const input = (): RunInput | undefined => started.at(-1);
    const before = started.length;
    if (admitted.kind === 'start') {
      const result = await admitted.prepared.start();
      if (result.kind === 'running') {
        const { name, namespace, uid } = object.metadata;
        const workflowId = runWorkflowId({
          cluster: deps.cluster,
          namespace: namespace ?? '',
          name,
          uid: uid ?? '',
        });
        await admitted.prepared.record({ workflowId, runId: result.runId });
      }
    }
    const { status } = world.read<DRPlanExecution>('DRPlanExecution', part.name);
    const own = started.length > before ? input() : undefined;
    if (own === undefined) {
      entry.wrong = `${admitted.kind}: ${status?.reason ?? ''} ${status?.message ?? ''}`;
      return;
    }
    const at = new Date().toISOString();
    await mirror.finish({
      run: own.run,
      sequence: 1,
      phase: 'Succeeded',
      reason: 'Succeeded',
      message: '',
      startTime: at,
      completionTime: at,
      stages: (status?.stageStatuses ?? []).map((stage, index) => ({ index, status: succeeded(stage, at) })),
      ...(own.run.operation === 'Revert' && { undone: [], unreverted: [] }),
    });
    const { phase } = world.read<DRPlanExecution>('DRPlanExecution', part.name).status ?? {};
    if (phase !== 'Succeeded') entry.wrong = `ends as ${phase}`;
  }
}

/** The message of a condition that says no. */
function readyOf({ status }: DRWorkflow | DRPlan): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True'
    ? undefined
    : `${ready?.reason ?? 'not looked at'}: ${ready?.message ?? ''}`;
}

function succeeded(stage: StageStatus, at: string): StageStatus {
  const over = { phase: 'Succeeded', startTime: at, completionTime: at } as const;
  return {
    ...stage,
    ...over,
    workflowExecutions: (stage.workflowExecutions ?? []).map((workflow) => ({
      ...workflow,
      ...over,
      actionStatuses: (workflow.actionStatuses ?? []).map((action) => ({ ...action, ...over })),
    })),
  };
}
