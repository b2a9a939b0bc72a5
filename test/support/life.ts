/**
 * Calls handlers of actions directly, against a real API server: for tests of what an attempt does to objects, where
 * the run around it does not matter.
 */
import { randomUUID } from 'node:crypto';
import { KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';
import type { Attempt, AttemptResult, Handler } from '../../activities/core/handler.js';
import { createPriorStore } from '../../activities/core/prior-store.js';
import { ownSealer } from '../../activities/core/testing/own-sealer.js';
import { LABELS } from '../../api/core/group.js';
import { fieldManager, idempotencyKey, managerDigest } from '../../api/plan/naming.js';
import { policyFor } from '../../api/plan/policy.js';
import { ESCALATIONS } from '../../api/plan/schema/policy.js';
import type { ActionAddress } from '../../api/plan/snapshot/run.js';
import type { Action, ActionStatus } from '../../api/plan/types.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import type { KubeClient } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';
import type { RunIdentity } from '../../workflows/plan/contract.js';
import type { ActionTask, PriorRef } from '../../workflows/plan/contract-tasks.js';

/** Seals what actions keep. */
const sealer = ownSealer();

/** A client for a kubeconfig file. */
export function connect(kubeconfig: string): KubeClient {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return createKubeClient(config);
}

/** A namespace of its own, with an execution in it that owns what is recorded. */
export interface Bench {
  kube: KubeClient;
  namespace: string;
  run: RunIdentity;
  close(): Promise<void>;
}

export async function openBench(kubeconfig: string): Promise<Bench> {
  const kube = connect(kubeconfig);
  const namespace = `actions-${randomUUID().slice(0, 8)}`;
  // The execution is only the owner of what actions keep: its plan does not exist, which admission would refuse.
  await kube.create({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { [LABELS.admission]: 'disabled' } },
  });
  const execution = await kube.create<KubeObject>({
    apiVersion: 'dr.bkbcs.tencent.com/v1alpha1',
    kind: 'DRPlanExecution',
    metadata: { name: 'run', namespace },
    spec: { planRef: 'plan', operationType: 'Execute' },
  });
  const run: RunIdentity = {
    cluster: 'test',
    namespace,
    name: 'run',
    uid: execution.metadata.uid ?? '',
    plan: { name: 'plan', namespace, uid: randomUUID() },
    operation: 'Execute',
    runMode: 'Planned',
    snapshot: { name: 'none', namespace, digest: '', parts: 0 },
    // Handlers are called as for a task that is vouched for: of the seal they read the key alone.
    seal: `${sealer.keyId()}.`,
  };
  return {
    kube,
    namespace,
    run,
    async close() {
      await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: namespace });
    },
  };
}

const SILENT = pino({ level: 'silent' });
const ORDINARY_TIMEOUT_MS = 30_000;
let lastAction = 0;

/** One action through its whole life. */
export interface Life {
  run(round?: number): Promise<AttemptResult>;
  capture(): Promise<void>;
  undo(): Promise<AttemptResult>;
  settle(): Promise<AttemptResult>;
  /** Attempt that `run` would get, for tests that cut it. */
  attempt(options?: Partial<Attempt>): Attempt;
  prior(): PriorRef | undefined;
}

export function startLife(
  bench: Bench,
  handler: Handler,
  action: Omit<Action, 'name'>,
  options: {
    timeoutMs?: number;
    params?: Record<string, string | number | boolean>;
    kube?: KubeClient;
    /** Name of the action: those of one name are one action, in one run after the other. Default: one of its own. */
    name?: string;
  } = {},
): Life {
  const at: ActionAddress = { stage: 0, workflow: 0, action: (lastAction += 1) };
  const named: Action = { name: options.name ?? `action-${at.action}`, ...action };
  let prior: PriorRef | undefined;
  let forward: ActionStatus | undefined;

  const taskOf = (direction: 'forward' | 'undo', round: number): ActionTask => ({
    run: bench.run,
    at,
    direction,
    round,
    name: named.name,
    type: named.type as ActionTask['type'],
    timeoutMs: options.timeoutMs ?? ORDINARY_TIMEOUT_MS,
    retry: { limit: 0, intervalMs: 1000, backoffMultiplier: 1, maxIntervalMs: 1000 },
    outputs: {},
    phases: {},
    ...(prior !== undefined && { prior }),
    ...(direction === 'undo' && forward !== undefined && { forward }),
  });
  const attemptOf = (direction: 'forward' | 'undo', round = 0, timeoutMs = ORDINARY_TIMEOUT_MS): Attempt => ({
    task: taskOf(direction, round),
    action: named,
    scope: {
      params: options.params ?? {},
      planName: 'plan',
      executionName: 'run',
      operation: 'Execute',
      outputs: {},
    },
    manager: fieldManager({
      planName: bench.run.plan.name,
      actionName: named.name,
      digest: managerDigest({
        plan: bench.run.plan,
        stage: 'stage',
        workflow: { namespace: bench.namespace, name: 'workflow', use: 0 },
        action: named.name,
      }),
    }),
    key: idempotencyKey({ uid: bench.run.uid, at, direction, round }),
    round,
    signal: AbortSignal.timeout(timeoutMs),
    deadline: Date.now() + timeoutMs,
    kube: options.kube ?? bench.kube,
    identity: 'the test',
    home: bench.kube,
    priors: createPriorStore({ kube: bench.kube, sealer }),
    isRepeated: round > 0,
    policy: policyFor(bench.namespace, [{ allow: [...ESCALATIONS] }]),
    log: SILENT,
    beforeEffect: () => undefined,
    say: () => undefined,
    remember: () => undefined,
    remembered: undefined,
  });
  const remember = (result: AttemptResult): AttemptResult => {
    const outputs = 'outputs' in result ? result.outputs : undefined;
    forward = {
      name: named.name,
      phase: result.kind === 'succeeded' ? 'Succeeded' : 'Failed',
      round: 0,
      ...(outputs !== undefined && { outputs }),
    };
    return result;
  };

  return {
    run: async (round) => remember(await handler.run(attemptOf('forward', round, options.timeoutMs))),
    async capture() {
      const outcome = await handler.capture?.(attemptOf('forward'));
      if (outcome?.kind === 'captured') prior = outcome.prior;
      else if (outcome?.kind !== 'none') throw new Error(JSON.stringify(outcome));
    },
    undo: async () => handler.undo(attemptOf('undo')),
    settle: async () => remember(await handler.settle(attemptOf('forward'))),
    attempt: (changes) => ({ ...attemptOf('forward', 0, options.timeoutMs), ...changes }),
    prior: () => prior,
  };
}
