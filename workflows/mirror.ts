import { ActivityCancellationType, condition, proxyActivities } from '@temporalio/workflow';
import { taskQueues } from './contract.js';
import type { BridgeActivities, MirrorOptions, MirrorUpdate, RunIdentity } from './contract.js';

/** What a speaker says about itself when it is asked. */
export type MirrorContent = Omit<MirrorUpdate, 'run' | 'from' | 'sequence'>;

/** Sends a workflow's own state into status, at most one step at a time. */
export interface Mirror {
  /** Says that there is something new. */
  touch: () => void;
  /** Sends at once, and waits: only for what must be there before the run goes on. */
  flush: (content: MirrorContent) => Promise<void>;
  /** Stops sending. A step under way is left to end by itself. */
  close: () => void;
  /** Number for the next update of this speaker. */
  nextSequence: () => number;
}

/** Activities of the bridge, for one cluster. Never given up: status is late while the bridge is away, never lost. */
export function bridgeActivities(run: RunIdentity, summary: string): BridgeActivities {
  return proxyActivities<BridgeActivities>({
    taskQueue: taskQueues(run.cluster).bridge,
    startToCloseTimeout: '30s',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '5s' },
    summary,
  });
}

/** What a mirror is made of. */
export interface MirrorSetup {
  run: RunIdentity;
  from: 'run' | number;
  options: MirrorOptions;
  /** What changed since the last call; undefined when there is nothing to say. */
  collect: () => MirrorContent | undefined;
  /** What `collect` or `flush` gave is in status. */
  sent?: (content: MirrorContent) => void;
}

/**
 * Starts mirroring. Must be called inside a non-cancellable scope: progress is told most of all while a run is being
 * cancelled.
 *
 * A change waits `debounceMs`, so that changes that come together share a step and a stage which is over by then costs
 * no step of its own; steps are at least `intervalMs` apart. A step is never awaited by the run (measured: awaiting them costs a quarter to a half
 * of a short run's time).
 */
export function startMirror(setup: MirrorSetup): Mirror {
  const { mirror } = bridgeActivities(setup.run, 'status');
  let sequence = 0;
  let dirty = false;
  let closed = false;
  let busy = false;

  async function send(content: MirrorContent): Promise<void> {
    sequence += 1;
    busy = true;
    await mirror({ run: setup.run, from: setup.from, sequence, ...content });
    busy = false;
    setup.sent?.(content);
  }

  async function loop(): Promise<void> {
    const { debounceMs, intervalMs } = setup.options;
    let earliest = 0;
    for (;;) {
      await condition(() => dirty || closed);
      if (closed) return;
      await condition(() => closed, Math.max(debounceMs, earliest - Date.now()), {
        summary: 'gather changes',
      });
      if (closed) return;
      earliest = Date.now() + intervalMs;
      dirty = false;
      const content = setup.collect();
      if (content !== undefined) await send(content);
    }
  }

  // A mirror step is retried for ever and cannot be cancelled here, so this only rejects when the workflow is torn down.
  loop().catch(() => undefined);

  return {
    touch: () => {
      dirty = true;
    },
    flush: async (content) => {
      // Two steps at once could overtake each other, and the older one would be dropped.
      await condition(() => !busy);
      await send(content);
    },
    close: () => {
      closed = true;
    },
    nextSequence: () => {
      sequence += 1;
      return sequence;
    },
  };
}
