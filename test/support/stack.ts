/** What an end-to-end test needs of the running stack: objects in, phases out. */
import { randomBytes } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { parseAllDocuments } from 'yaml';
import { API_VERSION, LABELS } from '../../api/core/group.js';
import { isTerminalExecution } from '../../api/core/phase.js';
import type {
  Action,
  DRPlan,
  DRPlanExecution,
  DRPlanExecutionSpec,
  DRPlanSpec,
  DRWorkflow,
  DRWorkflowSpec,
} from '../../api/plan/types.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import type { KubeClient } from '../../kube/client.js';
import { loadKubeConfig } from '../../kube/config.js';
import type { KubeObject } from '../../kube/object.js';
import { compressingConverter } from '../../runtime/compression.js';
import { servers } from './servers.js';

export interface Stack {
  kube: KubeClient;
  temporal: Client;
  /** A namespace of this file's own. */
  namespace: string;
  apply(yaml: string): Promise<void>;
  create<T = KubeObject>(object: unknown): Promise<T>;
  workflow(name: string, spec: DRWorkflowSpec): Promise<DRWorkflow>;
  /** Creates a plan and waits until it is Ready. */
  plan(name: string, spec: DRPlanSpec): Promise<DRPlan>;
  /** A plan of one stage with one workflow of these actions. */
  simplePlan(
    name: string,
    actions: Action[],
    more?: { workflow?: Partial<DRWorkflowSpec>; plan?: Partial<DRPlanSpec> },
  ): Promise<DRPlan>;
  execute(plan: string, spec?: Partial<DRPlanExecutionSpec>, name?: string): Promise<DRPlanExecution>;
  revert(execution: DRPlanExecution, spec?: Partial<DRPlanExecutionSpec>): Promise<DRPlanExecution>;
  get(execution: DRPlanExecution): Promise<DRPlanExecution>;
  getPlan(name: string): Promise<DRPlan>;
  /** Waits until the execution shows what is asked for. */
  until(
    execution: DRPlanExecution,
    what: (now: DRPlanExecution) => boolean,
    timeoutMs?: number,
  ): Promise<DRPlanExecution>;
  /** Waits for a terminal phase. */
  ended(execution: DRPlanExecution, timeoutMs?: number): Promise<DRPlanExecution>;
  close(): Promise<void>;
}

/** How long a test waits for what takes a second or two on an idle machine: one that is busy may take long. */
const PATIENCE_MS = 60_000;

export const unique = (prefix: string): string => `${prefix}-${randomBytes(4).toString('hex')}`;

/**
 * Opens the stack with a namespace of its own.
 *
 * @param options.admission `disabled` labels the namespace so that no webhook looks at what is created in it: for tests
 * of what the bridge itself does about objects that admission would refuse
 * @param options.at other servers than those that all tests share
 */
export async function openStack(
  prefix = 't',
  options: { admission?: 'disabled'; at?: { kubeconfig: string; temporal: string } } = {},
): Promise<Stack> {
  const { kubeconfig, temporal: address } = options.at ?? {
    kubeconfig: servers.kubeconfig,
    temporal: servers.temporal,
  };
  const kube = createKubeClient(loadKubeConfig({ file: kubeconfig }));
  const connection = await Connection.connect({ address });
  const temporal = new Client({
    connection,
    namespace: servers.temporalNamespace,
    dataConverter: compressingConverter(),
  });
  const namespace = unique(prefix);
  const labels: Record<string, string> =
    options.admission === undefined ? {} : { [LABELS.admission]: options.admission };
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } });

  const create = async <T>(object: unknown): Promise<T> => kube.create<T>(object as KubeObject);
  const dr = (kind: string, name: string, spec: unknown): unknown => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name, namespace },
    spec,
  });
  const key = (kind: string, name: string) => ({ apiVersion: API_VERSION, kind, namespace, name });

  const stack: Stack = {
    kube,
    temporal,
    namespace,
    create,
    async apply(yaml) {
      for (const document of parseAllDocuments(yaml)) {
        const object = document.toJSON() as KubeObject;
        const { namespaced } = await kube.resolve(object.apiVersion ?? '', object.kind ?? '');
        if (namespaced) object.metadata.namespace ??= namespace;
        await kube.patch(
          {
            apiVersion: object.apiVersion ?? '',
            kind: object.kind ?? '',
            name: object.metadata.name,
            ...(object.metadata.namespace !== undefined && { namespace: object.metadata.namespace }),
          },
          object,
          { kind: 'apply', force: true, fieldManager: 'test' },
        );
      }
    },
    workflow: (name, spec) => create(dr('DRWorkflow', name, spec)),
    async plan(name, spec) {
      await create(dr('DRPlan', name, spec));
      return poll(
        () => stack.getPlan(name),
        (plan) => plan.status?.phase === 'Ready',
      );
    },
    async simplePlan(name, actions, more = {}) {
      await stack.workflow(name, { actions, ...more.workflow });
      return stack.plan(name, {
        stages: [{ name: 'stage', workflows: [{ workflowRef: { name } }] }],
        ...more.plan,
      });
    },
    execute: (plan, spec = {}, name = unique('run')) =>
      create(dr('DRPlanExecution', name, { planRef: plan, operationType: 'Execute', ...spec })),
    revert: (execution, spec = {}) =>
      create(
        dr('DRPlanExecution', unique('revert'), {
          planRef: execution.spec.planRef,
          operationType: 'Revert',
          revertExecutionRef: execution.metadata.name,
          ...spec,
        }),
      ),
    async get(execution) {
      const found = await kube.get<DRPlanExecution>(key('DRPlanExecution', execution.metadata.name));
      if (found === undefined) throw new Error(`execution ${execution.metadata.name} is gone`);
      return found;
    },
    async getPlan(name) {
      const found = await kube.get<DRPlan>(key('DRPlan', name));
      if (found === undefined) throw new Error(`plan ${name} is gone`);
      return found;
    },
    until: (execution, what, timeoutMs = PATIENCE_MS) => poll(() => stack.get(execution), what, timeoutMs),
    ended: (execution, timeoutMs = PATIENCE_MS) =>
      poll(
        () => stack.get(execution),
        (now) => isTerminalExecution(now.status?.phase),
        timeoutMs,
      ),
    async close() {
      await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: namespace });
      await connection.close();
    },
  };
  return stack;
}

/** Quick at first, then so that asking is not what the machine is busy with, in milliseconds. */
const POLL_MS = { first: 40, factor: 1.15, longest: 250 };

/** Asks again and again; the last answer is in the error. */
export async function poll<T>(
  read: () => Promise<T>,
  done: (value: T) => boolean,
  timeoutMs = PATIENCE_MS,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (let pause = POLL_MS.first; ; pause = Math.min(pause * POLL_MS.factor, POLL_MS.longest)) {
    const value = await read();
    if (done(value)) return value;
    if (Date.now() > end)
      throw new Error(
        `not within ${timeoutMs} ms; last seen: ${JSON.stringify((value as { status?: unknown }).status ?? value, undefined, 1)}`,
      );
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** An HTTP action. */
export const http = (name: string, url: string, more: Partial<Action> = {}): Action => ({
  name,
  type: 'HTTP',
  http: { url, method: 'POST' },
  ...more,
});

/** The status of an action by its position. */
export const actionAt = (execution: DRPlanExecution, stage: number, workflow: number, action: number) =>
  execution.status?.stageStatuses?.[stage]?.workflowExecutions?.[workflow]?.actionStatuses?.[action];

/** The condition of a type. */
export const condition = (
  object: { status?: { conditions?: { type: string; status: string; reason: string; message: string }[] } },
  type: string,
) => object.status?.conditions?.find((item) => item.type === type);
