/** Says what is wrong with what a journey has left behind. */
import { canTransition, isTerminalExecution, isTerminalItem } from '../../api/core/phase.js';
import type { ItemPhase } from '../../api/core/phase.js';
import { runWorkflowId } from '../../api/plan/naming.js';
import type { DRPlan, DRPlanExecution, StageStatus } from '../../api/plan/types.js';
import { QUERIES } from '../../workflows/plan/contract.js';
import type { RunProgress, RunResult } from '../../workflows/plan/contract.js';
import type { Endpoint } from './endpoint.js';
import { eventually, insist } from './insist.js';
import type { Objects } from './objects.js';
import type { Plant } from './plant.js';

/** Where wrong things are told. */
export type Report = (violation: string) => void;

/** Follows the status of every execution: it may be late, but never goes back. */
export function watchTransitions(
  objects: Objects,
  report: (name: string, violation: string) => void,
  isReset: (name: string) => boolean,
): void {
  objects.onChange('DRPlanExecution', (change) => {
    if (change.kind === 'gone' || change.previous === undefined) return;
    const before = change.previous as DRPlanExecution;
    const after = change.object as DRPlanExecution;
    if (before.metadata.uid !== after.metadata.uid) return;
    const { name } = after.metadata;
    const was = before.status?.phase;
    if (isTerminalExecution(was) && was !== after.status?.phase) {
      report(name, `phase went from ${was} to ${after.status?.phase}`);
    }
    // A run that was reset begins its steps again.
    if (isReset(name)) return;
    const known = itemsOf(before.status?.stageStatuses);
    for (const [key, phase] of itemsOf(after.status?.stageStatuses)) {
      const earlier = known.get(key);
      // Watches leave out what lies between, so only what ended is sure to stay as it is.
      if (earlier !== undefined && isTerminalItem(earlier) && !canTransition(earlier, phase)) {
        report(name, `${key} went from ${earlier} to ${phase}`);
      }
    }
  });
}

function itemsOf(stages: readonly StageStatus[] | undefined): Map<string, ItemPhase> {
  const items = new Map<string, ItemPhase>();
  for (const stage of stages ?? []) {
    items.set(`stage ${stage.name}`, stage.phase as ItemPhase);
    for (const workflow of stage.workflowExecutions ?? []) {
      for (const action of workflow.actionStatuses ?? []) {
        items.set(
          `action ${stage.name}/${workflow.workflowRef.name}/${action.name}`,
          action.phase as ItemPhase,
        );
      }
    }
  }
  return items;
}

/** An HTTP effect happened once: one key, however many requests carried it. */
export function checkEffects(
  endpoint: Endpoint,
  journey: string,
  expected: readonly string[],
  report: Report,
): void {
  for (const path of expected) {
    const keys = endpoint.keys(`/${journey}/${path}`);
    if (keys.length !== 1) report(`effect ${path} happened ${keys.length} times: ${keys.join(', ')}`);
  }
  for (const path of endpoint.paths(journey)) {
    // Another cluster's plan of the same name has a path of its own before it.
    if (!path.startsWith(`/${journey}/`)) continue;
    const name = path.slice(journey.length + 2);
    if (!expected.includes(name)) report(`effect ${name} happened and should not have`);
  }
}

/** The plan is free, and its history has one row for an execution, which says how that ended. */
export async function checkPlan(
  plant: Plant,
  plan: string,
  uid: string,
  phase: string,
  report: Report,
): Promise<void> {
  const found = await insist(() =>
    plant.kube.get<DRPlan>({ ...DR, kind: 'DRPlan', namespace: 'faults', name: plan }),
  );
  const holder = found?.status?.currentExecution;
  if (holder?.uid === uid) report(`the plan is still held by ${holder.name}, which has ended`);
  const rows = (found?.status?.executionHistory ?? []).filter((row) => row.uid === uid);
  if (rows.length !== 1) report(`the plan's history has ${rows.length} rows for the execution`);
  else if (rows[0]?.phase !== phase) report(`the plan's history says ${rows[0]?.phase} instead of ${phase}`);
}

export const DR = { apiVersion: 'dr.bkbcs.tencent.com/v1alpha1' };

/**
 * Status says what the run itself says, and nothing of the run is still under way. A run that was terminated says nothing
 * any more: then every item of status has ended nevertheless.
 */
export async function checkRun(
  plant: Plant,
  execution: DRPlanExecution,
  report: Report,
  closed: 'COMPLETED' | 'TERMINATED' = 'COMPLETED',
): Promise<void> {
  const workflowId = runWorkflowId({
    cluster: plant.cluster,
    namespace: 'faults',
    name: execution.metadata.name,
    uid: execution.metadata.uid ?? '',
  });
  const handle = plant.temporal.workflow.getHandle(workflowId);
  // Temporal is killed every now and then, and a query needs a worker.
  const ask = async <T>(what: string, question: () => Promise<T>): Promise<T> => {
    let last: unknown;
    const answered = eventually(
      what,
      () =>
        question().catch((error: unknown) => {
          last = error;
          return undefined;
        }),
      300_000,
    );
    return answered.catch((error: unknown) => {
      throw new Error(`${String(error)}; last answer: ${describeError(last)}`, { cause: last });
    });
  };
  const description = await eventually(
    `${workflowId} is closed`,
    () =>
      handle.describe().then(
        (found) => (found.status.name === 'RUNNING' ? undefined : found),
        () => undefined,
      ),
    300_000,
  );
  if (description.status.name !== closed) {
    report(`run ${workflowId} is ${description.status.name}`);
    return;
  }
  const shown = execution.status?.stageStatuses ?? [];
  for (const [key, phase] of itemsOf(shown)) {
    if (!isTerminalItem(phase)) report(`${key} is ${phase} although the run has ended`);
  }
  await checkChildren(plant, workflowId, shown.length, report);
  if (closed === 'TERMINATED') return;
  const result = await ask('result', () => handle.result() as Promise<RunResult>);
  if (result.phase !== execution.status?.phase) {
    report(`status says ${execution.status?.phase}, the run says ${result.phase}`);
  }
  const progress = await ask('progress', () => handle.query<RunProgress>(QUERIES.progress));
  const own = itemsOf(progress.stages);
  const cut = new Set<string | undefined>(
    shown.filter(({ reason }) => reason === 'StageTerminated').map(({ name }) => name),
  );
  for (const [key, phase] of itemsOf(execution.status?.stageStatuses)) {
    const said = own.get(key);
    // A stage that was ended from outside could not tell its run what it had done.
    const isTold = key.startsWith('stage ') || !cut.has(key.split(' ', 2)[1]?.split('/', 1)[0]);
    if (isTold && said !== undefined && said !== phase)
      report(`status says ${key} is ${phase}, the run says ${said}`);
  }
}

async function checkChildren(
  plant: Plant,
  workflowId: string,
  stages: number,
  report: Report,
): Promise<void> {
  for (let index = 0; index < stages; index += 1) {
    for (const suffix of ['s', 'r']) {
      const child = plant.temporal.workflow.getHandle(`${workflowId}/${suffix}${index}`);
      const state = await child.describe().then(
        (found) => found.status.name,
        () => undefined,
      );
      if (state === 'RUNNING') report(`${workflowId}/${suffix}${index} still runs`);
    }
  }
}

/** An error with what caused it: the client says of a query only that it failed. */
const describeError = (error: unknown): string =>
  error instanceof Error
    ? [error.message, ...(error.cause === undefined ? [] : [describeError(error.cause)])].join(': ')
    : String(error);
