/**
 * Runs with everything that is sealed in them, as the bridge seals it, and the tasks that their workflows make of it: for
 * properties of what is vouched for. Nothing of Temporal is needed.
 */
import fc from 'fast-check';
import type { ActionAddress, ActionBody, ActionInput, UndoStep } from '../../api/plan/snapshot/run.js';
import type { Sealer } from '../../api/core/seal.js';
import type { ActionStatus } from '../../api/plan/types.js';
import { recordInCluster, traceOf } from '../../api/plan/undo/trace.js';
import { sealInput } from '../../crd-bridge/plan/start/seal-input.js';
import { rollbackWorkflowId, stageWorkflowId } from '../../workflows/plan/contract.js';
import type { RunInput } from '../../workflows/plan/contract.js';
import type { ActionTask } from '../../workflows/plan/contract-tasks.js';
import { sealedCluster, sealedEffect } from '../../workflows/plan/sealed.js';

/** A task and the workflow that asks for it. */
export interface Asked {
  task: ActionTask;
  caller: string;
}

const words = fc.constantFrom('a', 'b', 'site-a', 'site-b', 'x/y', '');
const name = fc.constantFrom('move', 'stop', 'start');
const body: fc.Arbitrary<ActionBody> = fc.record({
  action: fc.record({
    name,
    type: fc.constantFrom('HTTP' as const, 'Job' as const, 'KubernetesResource' as const),
    resource: fc.record({ operation: fc.constant('Create' as const), manifest: words }),
  }),
  params: fc.dictionary(fc.constantFrom('p', 'q'), words, { maxKeys: 2 }),
});
const reference = fc.record({
  apiVersion: fc.constant('v1'),
  kind: fc.constantFrom('ConfigMap', 'Secret'),
  name: words,
  namespace: fc.constant('default'),
  uid: words,
});
const forwardOf = fc.record({
  phase: fc.constantFrom('Succeeded', 'Failed'),
  round: fc.nat(2),
  outputs: fc.record(
    {
      created: fc.array(reference, { maxLength: 2 }),
      priorRef: fc.record({ name: words, key: words, digest: words }),
      jobRef: reference,
    },
    { requiredKeys: [] },
  ),
});

/** One run: what it is to do, and what its actions have left behind. */
export interface Drawn {
  uid: string;
  operation: 'Execute' | 'Revert';
  rollsBack: boolean;
  account: string;
  actions: { body: ActionBody; forward: ActionStatus; clusters: string[] }[];
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  uid: fc.constant('uid-1'),
  operation: fc.constantFrom('Execute' as const, 'Revert' as const),
  rollsBack: fc.boolean(),
  account: fc.constantFrom('poor', 'rich'),
  actions: fc.array(
    fc.record({
      body,
      forward: forwardOf as fc.Arbitrary<ActionStatus>,
      clusters: fc.uniqueArray(fc.constantFrom('ns/east', 'ns/west'), { maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

/** Every task of a run that is vouched for. */
export function tasksOf(run: Drawn, sealer: Sealer): Asked[] {
  const workflowId = `dr/c/default/run/${run.uid}`;
  const input = sealInput(inputOf(run), workflowId, sealer);
  const [stage, undo] = [input.stages[0], input.undo[0]];
  const forward = (stage?.workflows[0]?.actions ?? []).flatMap((action, index) =>
    forwardTasks(input, action, index, run, sealer),
  );
  return run.operation === 'Execute'
    ? forward
    : (undo?.steps ?? []).flatMap((step) => revertTasks(input, step));
}

function inputOf({ uid, operation, rollsBack, account, actions }: Drawn): RunInput {
  const input = ({ body: own }: Drawn['actions'][number]): ActionInput => ({
    name: own.action.name,
    type: own.action.type as ActionInput['type'],
    dependsOn: [],
    timeoutMs: 1000,
    retry: { limit: 0, intervalMs: 1, backoffMultiplier: 1, maxIntervalMs: 1 },
    capture: false,
    interruptible: true,
    uses: [],
    body: own,
  });
  const isRevert = operation === 'Revert';
  const workflow = { ref: { name: 'w', namespace: 'default' }, failurePolicy: 'FailFast' as const };
  return {
    run: {
      cluster: 'c',
      namespace: 'default',
      name: 'run',
      uid,
      plan: { name: 'plan', namespace: 'default', uid: 'plan-uid' },
      operation,
      runMode: 'Planned',
      serviceAccountName: account,
      snapshot: { name: 'snapshot', namespace: 'default', digest: 'd', parts: 1 },
    },
    startDeadline: '2026-11-29T10:00:00Z',
    failurePolicy: 'Stop',
    onFailure: rollsBack ? 'Rollback' : 'Stop',
    maxConcurrentStages: 1,
    stages: isRevert
      ? []
      : [
          {
            index: 0,
            name: 's',
            parallel: false,
            dependsOn: [],
            failurePolicy: 'Stop',
            workflows: [{ ...workflow, actions: actions.map(input) }],
          },
        ],
    undo: isRevert
      ? [
          {
            index: 0,
            name: 's',
            status: { name: 's', phase: 'Pending' },
            steps: actions.map((own, index): UndoStep => {
              const clusterStatuses = own.clusters.map((cluster) => ({
                cluster,
                clusterID: `id of ${cluster}`,
                phase: 'Succeeded',
                effect: 'Done' as const,
              }));
              return {
                at: { stage: 0, workflow: 0, action: index },
                input: input(own),
                forward: { ...own.forward, ...(clusterStatuses.length > 0 && { clusterStatuses }) },
                outputs: {},
              };
            }),
          },
        ]
      : [],
    mirror: { debounceMs: 1, intervalMs: 1 },
    bounds: { undoStepMs: 1, settleMs: 1, pauseReminderMs: 1 },
    searchAttributes: false,
  };
}

const common = (input: RunInput, action: ActionInput, at: ActionAddress) => ({
  run: input.run,
  at,
  round: 0,
  name: action.name,
  type: action.type,
  timeoutMs: action.timeoutMs,
  retry: action.retry,
  ...(action.body !== undefined && { body: action.body }),
  outputs: {},
  phases: {},
});

function forwardTasks(
  input: RunInput,
  action: ActionInput,
  index: number,
  run: Drawn,
  sealer: Sealer,
): Asked[] {
  const at = { stage: 0, workflow: 0, action: index };
  const { uid, workflowId = '' } = input.run;
  const seals = { body: action.bodySeal ?? '' };
  const { forward, clusters } = run.actions[index] ?? {};
  const caller = stageWorkflowId(workflowId, 0);
  const done: Asked = { caller, task: { ...common(input, action, at), direction: 'forward', seals } };
  const parts = (clusters ?? []).map((cluster): Asked => {
    const target = { cluster, clusterId: `id of ${cluster}` };
    const seal = sealer.seal('cluster', sealedCluster({ uid, at, target }));
    const part = { ...done.task, at: { ...at, cluster }, clusterId: target.clusterId };
    return { caller, task: { ...part, seals: { ...seals, cluster: seal } } };
  });
  if (!run.rollsBack || forward === undefined) return [done, ...parts];
  const trace = traceOf(forward.outputs) ?? {};
  const effects = [{ seal: sealer.seal('effect', sealedEffect({ uid, at, trace })) }];
  const undone: Asked = {
    caller: rollbackWorkflowId(workflowId, 0),
    task: { ...common(input, action, at), direction: 'undo', forward, seals: { ...seals, effects } },
  };
  // Of a part nothing is known but where it was: its undo looks for what carries its marks.
  const undoneParts = parts.map(({ task }): Asked => ({
    caller: undone.caller,
    task: { ...task, direction: 'undo', forward: { name: action.name, phase: 'Failed' } },
  }));
  return [done, ...parts, undone, ...undoneParts];
}

function revertTasks(input: RunInput, step: UndoStep): Asked[] {
  const { at, forward } = step;
  const caller = rollbackWorkflowId(input.run.workflowId ?? '', at.stage);
  const seals = { body: step.input.bodySeal ?? '', step: step.seal ?? '' };
  const whole: ActionTask = { ...common(input, step.input, at), direction: 'undo', forward, seals };
  const parts = (forward.clusterStatuses ?? []).map((record): ActionTask => {
    const { cluster, clusterID: clusterId } = record;
    const seal = step.partSeals?.[cluster] ?? '';
    const part = { at: { ...at, cluster }, clusterId, forward: recordInCluster(forward, record) };
    return { ...whole, ...part, seals: { ...seals, step: seal } };
  });
  return [whole, ...parts].map((task) => ({ task, caller }));
}

/** Two runs, whose tasks an attacker may mix. */
export const twoRuns = fc
  .tuple(drawn, drawn)
  .map(([one, other]): [Drawn, Drawn] => [one, { ...other, uid: 'uid-2' }]);
