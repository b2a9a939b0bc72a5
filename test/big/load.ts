/** Many executions at once, and what became of each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { forAll, within } from '../../bench/lib/load.js';
import { watchObjects } from '../../bench/lib/object-watch.js';
import type { ObjectWatch } from '../../bench/lib/object-watch.js';
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import { isTerminalExecution } from '../../api/core/phase.js';
import type { DRPlan, DRPlanExecution, DRWorkflowSpec } from '../../api/plan/types.js';
import { KubeError, isAlreadyExists } from '../../kube/error.js';
import type { Stack } from '../support/stack.js';
import { tell } from './sizes.js';

/** Requests that are open at once, as of a good number of people and pipelines. */
const PARALLEL = 24;
const PROGRESS_MS = 30_000;

const dr = (stack: Stack, kind: string, name: string, spec: unknown) => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name, namespace: stack.namespace },
  spec,
});

/** Something that runs in a plan of its own, or in one that others share. */
export interface Load {
  name: string;
  plan: string;
}

/** How creations went. */
interface Creations {
  /** Requests that were answered with a request to try again. */
  again: number;
  /** What admission has said, by name of the object that it did not let in. */
  refused: Map<string, string>;
}

const noCreations = (): Creations => ({ again: 0, refused: new Map() });

/** Creates an object, and tries again what a server under load asks everybody to try again. */
async function create(stack: Stack, object: ReturnType<typeof dr>, creations: Creations): Promise<void> {
  for (;;) {
    try {
      await stack.create(object);
      return;
    } catch (error) {
      // An answer that did not come in time was a creation all the same.
      if (isAlreadyExists(error) && creations.again > 0) return;
      if (!(error instanceof KubeError)) throw error;
      if (error.code >= 400 && error.code < 500 && error.code !== 429) {
        creations.refused.set(object.metadata.name, error.message);
        return;
      }
      creations.again += 1;
      tell(`asked to try again: ${error.message}`);
      await sleep(error.retryAfterMs ?? 1000);
    }
  }
}

/** Makes workflows, and plans that take turns with them; all plans are Ready in the end. */
export async function prepare(
  stack: Stack,
  workflows: readonly { name: string; spec: DRWorkflowSpec }[],
  plans: readonly string[],
): Promise<void> {
  const creations = noCreations();
  await forAll(
    workflows,
    ({ name, spec }) => create(stack, dr(stack, 'DRWorkflow', name, spec), creations),
    PARALLEL,
  );
  const watch = await watchObjects<DRPlan>(
    stack.kube,
    { apiVersion: API_VERSION, kind: 'DRPlan' },
    stack.namespace,
  );
  const ready = Promise.all(
    plans.map((name) => watch.until(name, ({ status }) => status?.phase === 'Ready')),
  );
  ready.catch(() => undefined);
  await forAll(
    [...plans.entries()],
    ([index, name]) => {
      const workflow = workflows[index % workflows.length]?.name ?? '';
      const spec = { stages: [{ name: 'only', workflows: [{ workflowRef: { name: workflow } }] }] };
      return create(stack, dr(stack, 'DRPlan', name, spec), creations);
    },
    PARALLEL,
  );
  if (creations.refused.size > 0) throw new Error([...creations.refused.values()][0]);
  await within(300_000 + plans.length * 500, () => 'not all plans were Ready', ready);
  await watch.close();
}

/** Executions that were created, and the watch that sees them. */
export interface Running {
  watch: ObjectWatch<DRPlanExecution>;
  /** Seconds that it took to create them. */
  createdIn: number;
  /** How many had not ended when the last was created. */
  openThen: number;
  /** Creations that were answered with a request to try again. */
  again: number;
  /** What admission has said, by name of the execution that it did not let in. */
  refused: ReadonlyMap<string, string>;
  /** Resolves when so many have ended. */
  whenEnded(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Creates executions as fast as the API server takes them. */
export async function createAll(
  stack: Stack,
  load: readonly Load[],
  spec: Partial<DRPlanExecution['spec']>,
): Promise<Running> {
  const watch = await watchObjects<DRPlanExecution>(
    stack.kube,
    { apiVersion: API_VERSION, kind: 'DRPlanExecution' },
    stack.namespace,
  );
  const ours = new Set(load.map(({ name }) => name));
  const ended = new Set<string>();
  const waiting = new Set<{ count: number; resolve: () => void }>();
  watch.onChange(({ object }) => {
    if (!ours.has(object.metadata.name) || !isTerminalExecution(object.status?.phase)) return;
    ended.add(object.metadata.name);
    for (const waiter of waiting) {
      if (ended.size < waiter.count) continue;
      waiting.delete(waiter);
      waiter.resolve();
    }
  });
  const progress = setInterval(() => {
    tell(`${ended.size} of ${load.length} have ended`);
  }, PROGRESS_MS).unref();
  const creations = noCreations();
  const begun = performance.now();
  await forAll(
    load,
    ({ name, plan }) =>
      create(
        stack,
        dr(stack, 'DRPlanExecution', name, { planRef: plan, operationType: 'Execute', ...spec }),
        creations,
      ),
    PARALLEL,
  );
  return {
    watch,
    createdIn: (performance.now() - begun) / 1000,
    openThen: load.length - creations.refused.size - ended.size,
    again: creations.again,
    refused: creations.refused,
    whenEnded: (count) =>
      within(
        600_000 + load.length * 1000,
        () => `${load.length - ended.size} of ${load.length} executions have not ended`,
        new Promise<void>((resolve) => {
          if (ended.size >= count) resolve();
          else waiting.add({ count, resolve });
        }),
      ),
    async close() {
      clearInterval(progress);
      await watch.close();
    },
  };
}

/** Cancels an execution. @returns seconds from the request to the terminal phase */
export async function cancel(
  stack: Stack,
  watch: ObjectWatch<DRPlanExecution>,
  name: string,
): Promise<number> {
  const begun = performance.now();
  await stack.kube.patch(
    { apiVersion: API_VERSION, kind: 'DRPlanExecution', namespace: stack.namespace, name },
    { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
    { kind: 'merge' },
  );
  const seen = watch.until(name, ({ status }) => isTerminalExecution(status?.phase));
  const { at } = await within(600_000, () => `${name} was not cancelled`, seen);
  return (at - begun) / 1000;
}
