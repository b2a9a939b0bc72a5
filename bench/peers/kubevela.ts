import type { KubeObject } from '../../kube/object.js';
import { callPath, delayQuery, hasKind } from './peer.js';
import type { Peer, PlannedRun, RunPhase } from './peer.js';

const RUN = { apiVersion: 'core.oam.dev/v1alpha1', kind: 'WorkflowRun' };
const DEFINITION = { apiVersion: 'core.oam.dev/v1beta1', kind: 'WorkflowStepDefinition' };
const ENDED_STEPS = new Set(['succeeded', 'failed', 'skipped']);

interface RunStatus {
  status?: string;
  mode?: unknown;
  finished?: boolean;
  suspend?: boolean;
  terminated?: boolean;
  message?: string;
  steps?: { phase?: string; subSteps?: { phase?: string }[] }[];
}

const statusOf = (object: KubeObject): RunStatus => (object as { status?: RunStatus }).status ?? {};

/**
 * KubeVela Workflow: a WorkflowRun with its steps inline. A single call is a step; more are groups of steps, which end
 * one after another as stages do.
 *
 * @param options.step step definition that calls are made by. Default `request`, which comes with it and gives up after
 * 3 s: scenarios with longer calls need a copy of it with more time
 * @param options.stepNamespace where its definitions are. Default `vela-system`
 */
export function kubevela(options: { step?: string; stepNamespace?: string }): Peer {
  const type = options.step ?? 'request';
  const namespace = options.stepNamespace ?? 'vela-system';
  return {
    name: 'kubevela',
    title: 'KubeVela Workflow',
    runType: RUN,
    async missing(kube) {
      if (!(await hasKind(kube, RUN.apiVersion, RUN.kind)))
        return ['its definitions are not installed: apply the CustomResourceDefinitions that come with it'];
      const needed = [type, 'step-group'];
      const found = await Promise.all(needed.map((name) => kube.get({ ...DEFINITION, namespace, name })));
      return needed
        .filter((_, index) => found[index] === undefined)
        .map((name) => `step definition ${namespace}/${name} is not there: apply those that come with it`);
    },
    shared: () => [],
    plan: () => [],
    run: (run) => ({
      ...RUN,
      metadata: { name: run.name, namespace: run.namespace },
      spec: { workflowSpec: { steps: stepsOf(run, type) } },
    }),
    phase: (object) => phaseOf(statusOf(object).status),
    explain: (object) => statusOf(object).message ?? `its status is ${statusOf(object).status ?? 'empty'}`,
    openSteps(object) {
      const { steps } = statusOf(object);
      return steps
        ?.flatMap((step) => [step, ...(step.subSteps ?? [])])
        .filter(({ phase }) => !ENDED_STEPS.has(phase ?? '')).length;
    },
    cancel: (object) => ({
      kind: 'merge',
      subresource: 'status',
      patch: { status: terminated(statusOf(object)) },
    }),
  };
}

/**
 * The whole status with the request to terminate in it, which is what its command line sends: the status of a run that is
 * in its first step is empty, and fields that its schema requires would be missing.
 */
const terminated = (status: RunStatus): RunStatus => ({
  finished: false,
  mode: {},
  status: '',
  ...status,
  suspend: false,
  terminated: true,
});

/** @throws Error for a shape that it has no form for */
function stepsOf({ shape, name, url }: PlannedRun, type: string): unknown[] {
  if ((shape.workflows ?? 1) > 1) throw new Error('a WorkflowRun has no workflows inside of a stage');
  const call = (stage: number, action: number) => ({
    name: `s${stage}-a${action}`,
    type,
    properties: { method: 'GET', url: url + callPath(name, stage, 0, action) + delayQuery(shape) },
  });
  const calls = (stage: number) => Array.from({ length: shape.actions }, (_, action) => call(stage, action));
  if (shape.stages === 1 && shape.actions === 1) return calls(0);
  return Array.from({ length: shape.stages }, (_, stage) => ({
    name: `stage-${stage}`,
    type: 'step-group',
    subSteps: calls(stage),
  }));
}

function phaseOf(status: string | undefined): RunPhase {
  switch (status) {
    case 'succeeded':
      return 'succeeded';
    case 'failed':
      return 'failed';
    case 'terminated':
      return 'cancelled';
    default:
      return 'running';
  }
}
