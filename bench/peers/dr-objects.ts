/** Objects of the DR kinds, in the spelling that every generation of their controllers accepts. */
import { ANNOTATIONS, API_VERSION } from '../../api/core/group.js';
import { isTerminalItem } from '../../api/core/phase.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { callPath, delayQuery } from './peer.js';
import type { Change, Peer, PlannedRun, RunPhase } from './peer.js';

const WORKFLOW = { apiVersion: API_VERSION, kind: 'DRWorkflow' };
const PLAN = { apiVersion: API_VERSION, kind: 'DRPlan' };
const EXECUTION = { apiVersion: API_VERSION, kind: 'DRPlanExecution' };
/** Nothing here is to be tried twice: what fails is to be seen. */
const RETRY = { limit: 0, interval: '1s', backoffMultiplier: '1.0' };

const workflowName = ({ shape, variant }: PlannedRun): string =>
  `calls-${shape.actions}${variant === 0 ? '' : `-v${variant}`}`;

/**
 * The workflow of a shape: it calls the recorder, and learns from parameters which run and stage it is part of. With
 * everything spelled out that a defaulting webhook would add, for controllers that run without one.
 */
export function workflowOf(run: PlannedRun): KubeObject {
  const { shape, namespace, url } = run;
  const parameter = (name: string) => ({ name, type: 'string', required: true });
  return {
    ...WORKFLOW,
    metadata: { name: workflowName(run), namespace },
    spec: {
      failurePolicy: 'FailFast',
      parameters: ['run', 'stage', 'workflow'].map(parameter),
      actions: Array.from({ length: shape.actions }, (_, action) => ({
        name: `call-${action}`,
        type: 'HTTP',
        timeout: '5m',
        retryPolicy: RETRY,
        http: {
          method: 'GET',
          url:
            url +
            callPath('{{ .params.run }}', '{{ .params.stage }}', '{{ .params.workflow }}', action) +
            delayQuery(shape),
        },
      })),
    },
  };
}

/** The plan of a run. */
export function planOf(run: PlannedRun, more: Record<string, unknown> = {}): KubeObject {
  const { shape, name, namespace } = run;
  const workflows = shape.workflows ?? 1;
  return {
    ...PLAN,
    metadata: { name, namespace },
    spec: {
      failurePolicy: 'Stop',
      globalParams: [{ name: 'run', value: name }],
      stages: Array.from({ length: shape.stages }, (_, stage) => ({
        name: `stage-${stage}`,
        ...(stage > 0 && { dependsOn: [`stage-${stage - 1}`] }),
        parallel: workflows > 1,
        workflows: Array.from({ length: workflows }, (__, workflow) => ({
          workflowRef: { name: workflowName(run), namespace },
          params: [
            { name: 'stage', value: String(stage) },
            { name: 'workflow', value: String(workflow) },
          ],
        })),
      })),
      ...more,
    },
  };
}

/** The execution that starts a run. */
export const executionOf = (
  { name, plan = name, namespace }: PlannedRun,
  more: Record<string, unknown> = {},
): KubeObject => ({
  ...EXECUTION,
  metadata: { name, namespace },
  spec: { planRef: plan, operationType: 'Execute', ...more },
});

/** Reads both spellings of the end of a cancelled run. */
export function phaseOf(object: KubeObject): RunPhase {
  switch ((object as unknown as DRPlanExecution).status?.phase) {
    case 'Succeeded':
      return 'succeeded';
    case 'Failed':
      return 'failed';
    case 'Cancelled':
    case 'Canceled':
      return 'cancelled';
    default:
      return 'running';
  }
}

/** Stages, workflows and actions that an ended execution does not show as ended. */
export function openStepsOf(object: KubeObject): number | undefined {
  const stages = (object as unknown as DRPlanExecution).status?.stageStatuses;
  if (stages === undefined) return undefined;
  // The later generation of the original has a phase of its own for what a cancel ended.
  const isOpen = ({ phase }: { phase: string }): boolean => !isTerminalItem(phase) && phase !== 'Canceled';
  return stages
    .flatMap((stage) => [
      stage,
      ...(stage.workflowExecutions ?? []).flatMap((workflow) => [
        workflow,
        ...(workflow.actionStatuses ?? []),
      ]),
    ])
    .filter(isOpen).length;
}

const isReady = (object: KubeObject): boolean =>
  (object as { status?: { phase?: string } }).status?.phase === 'Ready';

/** What both generations understand as a request to cancel. */
export const cancelOf = (): Change => ({
  kind: 'merge',
  patch: { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
});

/** What a plan and its execution have in common for every controller of the DR kinds. */
export const drKinds: Omit<Peer, 'name' | 'title' | 'missing' | 'plan'> = {
  runType: EXECUTION,
  shared: (run) => [workflowOf(run)],
  sharedAccepted: { type: WORKFLOW, isAccepted: isReady },
  accepted: { type: PLAN, isAccepted: isReady },
  run: (run) => executionOf(run),
  phase: phaseOf,
  explain: (object) => (object as unknown as DRPlanExecution).status?.message ?? 'it says nothing about it',
  openSteps: openStepsOf,
  cancel: cancelOf,
};
