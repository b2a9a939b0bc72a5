/** Runs one after the other, several lanes side by side, each of one shape: how long each takes shows who made it wait. */
import { expect } from 'vitest';
import type { Action, DRPlanExecution } from '../../../api/plan/types.js';
import type { KubeObject } from '../../../kube/object.js';
import type { Recorder } from '../../support/recorder.js';
import { http, unique } from '../../support/stack.js';
import type { Stack } from '../../support/stack.js';

/** Shapes of runs. A `wait` is let go by the test once it waits. */
export const SHAPES = ['calls', 'object', 'job', 'wait'] as const;
export type Shape = (typeof SHAPES)[number];

/** A run that has ended. */
export interface Timed {
  shape: Shape;
  execution: DRPlanExecution;
  /** When its clock began: at its creation, or, of a `wait`, when it was let go. Milliseconds since the epoch. */
  from: number;
  to: number;
}

/** Longer than any stall that the programs allow: one that does not end by then is lost. */
const LOST_MS = 180_000;

/** Makes the plans of a lane. */
export async function prepareLane(
  stack: Stack,
  recorder: Recorder,
  shape: Shape,
  plan: string,
): Promise<void> {
  const call = (name: string): Action => http(name, `${recorder.url}/{{ .executionName }}/${name}`);
  const named = (kind: string, apiVersion: string, more: object): string =>
    JSON.stringify({ apiVersion, kind, metadata: { name: '{{ .executionName }}' }, ...more });
  const actions: Record<Shape, Action[]> = {
    calls: [call('one'), call('two'), call('three')],
    object: [
      {
        name: 'write',
        type: 'KubernetesResource',
        resource: { operation: 'Create', manifest: named('ConfigMap', 'v1', {}) },
      },
      call('one'),
    ],
    job: [
      {
        name: 'job',
        type: 'Job',
        job: {
          namespace: stack.namespace,
          template: {
            spec: {
              backoffLimit: 0,
              template: {
                spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x.example/x' }] },
              },
            },
          },
        },
      },
      call('one'),
    ],
    wait: [
      {
        name: 'wait',
        type: 'Wait',
        wait: {
          for: { apiVersion: 'v1', kind: 'ConfigMap', name: '{{ .executionName }}-go' },
          condition: 'object != null',
        },
      },
      call('one'),
    ],
  };
  await stack.simplePlan(plan, actions[shape]);
}

/** Runs the plan again and again until it is told to stop. */
export async function drive(
  stack: Stack,
  {
    shape,
    plan,
    isOver,
    onEnd,
  }: { shape: Shape; plan: string; isOver: () => boolean; onEnd: (run: Timed) => void },
): Promise<void> {
  while (!isOver()) {
    const execution = await stack.execute(plan, { rerun: 'Allowed' }, unique(shape));
    let from = Date.now();
    if (shape === 'wait') {
      await stack.until(execution, waits, LOST_MS);
      from = Date.now();
      await stack.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `${execution.metadata.name}-go`, namespace: stack.namespace },
      });
    }
    const ended = await stack.ended(execution, LOST_MS);
    onEnd({ shape, execution: ended, from, to: Date.now() });
  }
}

const waits = ({ status }: DRPlanExecution): boolean =>
  status?.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses?.[0]?.phase === 'Running';

const CALLS: Record<Shape, string[]> = {
  calls: ['one', 'two', 'three'],
  object: ['one'],
  job: ['one'],
  wait: ['one'],
};

/** That a run has done each thing once, and all of them. */
export async function checkOnce(
  stack: Stack,
  recorder: Recorder,
  { shape, execution }: Timed,
): Promise<void> {
  const { name, uid = '' } = execution.metadata;
  expect(execution.status, name).toMatchObject({ phase: 'Succeeded' });
  for (const call of CALLS[shape]) expect(recorder.effects(`/${name}/${call}`), `${name}/${call}`).toBe(1);
  const made = async (kind: string, apiVersion: string): Promise<KubeObject[]> =>
    (
      await stack.kube.list<KubeObject>(
        { apiVersion, kind },
        { namespace: stack.namespace, labelSelector: `dr.bkbcs.tencent.com/execution=${uid}` },
      )
    ).items;
  if (shape === 'object') expect(await made('ConfigMap', 'v1'), name).toHaveLength(1);
  if (shape === 'job') expect(await made('Job', 'batch/v1'), name).toHaveLength(1);
}
