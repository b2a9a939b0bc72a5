import { isTerminalExecution } from '../../../api/core/phase.js';
import type { Informer } from '../../../kube/informer.js';
import type { MirrorPace } from '../../../workflows/core/contract.js';
import type { CachedExecution } from '../types.js';

/** Longest wait of a run before its progress is written, however many are live. */
const MAX_MS = 5_000;
/** Below this many live runs, every change is mirrored at once. */
const UNTHROTTLED_RUNS = 30;
/** Up to this many live runs, a run that a person watches reports its first change at once. */
const FEW = 10;
/** A run that ends within this time costs no step of its own; to the eye it is immediate. */
const FEW_BEGIN_MS = 400;

/** What the pace of status is made of. */
export interface PaceSettings {
  /** Least time before the first update of a workflow, in milliseconds. */
  beginMs: number;
  /** Steps per second to aim at, over all runs. */
  stepsPerSecond: number;
}

/**
 * How often runs may report their progress, by how many of them are live. A step costs Temporal, the bridge and the API
 * server some 40 CPU milliseconds together, which a burst of runs needs for itself.
 */
export function createPace(
  executions: Pick<Informer<CachedExecution>, 'onChange'>,
  settings: PaceSettings,
): () => MirrorPace {
  const live = new Set<string>();
  executions.onChange(({ kind, object }) => {
    const uid = object.metadata.uid ?? '';
    const isLive =
      kind === 'set' && object.status?.temporal !== undefined && !isTerminalExecution(object.status.phase);
    if (isLive) live.add(uid);
    else live.delete(uid);
  });
  return () => {
    const share = Math.max(0, live.size - UNTHROTTLED_RUNS) / settings.stepsPerSecond;
    const intervalMs = Math.min(Math.round(share * 1000), MAX_MS);
    if (live.size <= FEW) return { beginMs: Math.min(settings.beginMs, FEW_BEGIN_MS), intervalMs: 0 };
    return {
      beginMs: Math.max(settings.beginMs, Math.min(settings.beginMs + intervalMs, MAX_MS)),
      intervalMs,
    };
  };
}
