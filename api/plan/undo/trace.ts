/** What an undo relies on: the part of a record of an action that travels with its undo, and is sealed. */
import type { ActionOutputs, ActionStatus, ClusterActionStatus } from '../types.js';

/** The part of an action's record that its undo relies on: a large run has thousands of these in one input. */
export function recordOf(forward: ActionStatus): ActionStatus {
  const { name, phase, effect, round, outputs, clusterStatuses } = forward;
  const trace = traceOf(outputs);
  return {
    name,
    phase,
    ...(effect !== undefined && { effect }),
    ...(round !== undefined && { round }),
    ...(clusterStatuses !== undefined && {
      clusterStatuses: clusterStatuses.map(
        ({ message: _m, startTime: _s, completionTime: _c, retryCount: _r, ...record }) => record,
      ),
    }),
    ...(trace !== undefined && { outputs: trace }),
  };
}

/** The part of an action's outputs that its undo relies on. */
export function traceOf(outputs: ActionOutputs | undefined): EffectTrace | undefined {
  if (outputs === undefined) return undefined;
  const { jobRef, created, priorRef, planExecutionRef } = outputs;
  return {
    ...(jobRef !== undefined && { jobRef }),
    ...(created !== undefined && { created }),
    ...(priorRef !== undefined && { priorRef }),
    ...(planExecutionRef !== undefined && { planExecutionRef }),
  };
}

/** What an action has left behind, as far as its undo relies on it. */
export type EffectTrace = Pick<ActionOutputs, 'jobRef' | 'created' | 'priorRef' | 'planExecutionRef'>;

/** The part of the record of an action per cluster that the undo in one cluster relies on. */
export function recordInCluster(forward: ActionStatus, record: ClusterActionStatus): ActionStatus {
  const { name, type, outputs } = forward;
  const created = (outputs?.created ?? []).filter((one) => one.name === record.subscription);
  // Without outputs an undo looks for the marks on what was written.
  const isKnown = outputs !== undefined && record.phase === 'Succeeded';
  return {
    name,
    ...(type !== undefined && { type }),
    phase: isKnown ? 'Succeeded' : 'Failed',
    effect: record.effect ?? 'Unknown',
    ...(record.round !== undefined && { round: record.round }),
    outputs: {
      ...(created.length > 0 && { created }),
      ...(record.priorRef !== undefined && { priorRef: record.priorRef }),
    },
  };
}
