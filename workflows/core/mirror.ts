import { ActivityCancellationType, condition, proxyActivities } from '@temporalio/workflow';
import { taskQueues } from './contract.js';
import type { MirrorOptions, MirrorPace } from './contract.js';
import type { RunIdentity } from '../plan/contract.js';
import type { MirrorUpdate } from '../plan/contract-updates.js';
import type { BridgeActivities } from '../plan/contract-bridge.js';

/** What a speaker says about itself when it is asked. */
export type MirrorContent = Omit<MirrorUpdate, 'run' | 'from' | 'sequence'>;

/** Sends a workflow's own state into status, at most one step at a time. */
export interface Mirror {
  /** Says that there is something new. */
  touch: () => void;
  /** Sends at once and waits: only for what must be in status before the run goes on. */
  flush: (content: MirrorContent) => Promise<void>;
  /** Stops sending. A step under way is left to end by itself. */
  close: () => void;
  /** Number for the next update of this speaker. */
  nextSequence: () => number;
  /** The options as the bridge has them now, for workflows that are started from here. */
  options: () => MirrorOptions;
  /** Takes over the pace that the bridge has asked of a workflow started from here. */
  follow: (pace: MirrorPace) => void;
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
 * Starts mirroring. Must be called inside a non-cancellable scope: progress must be shown above all while a run is
 * being cancelled.
 *
 * A change waits `debounceMs`, so that changes that come together share a step; the first one waits until `beginMs`, so
 * that a stage which is over by then costs no step of its own; steps are at least `intervalMs` apart. A step is never
 * awaited by the run (measured: awaiting them costs a quarter to a half of a short run's time).
 */
export function startMirror(setup: MirrorSetup): Mirror {
  const { mirror } = bridgeActivities(setup.run, 'status');
  const begun = Date.now();
  let options = setup.options;
  let sequence = 0;
  let dirty = false;
  let closed = false;
  let busy = false;

  async function send(content: MirrorContent): Promise<void> {
    sequence += 1;
    busy = true;
    const pace = await mirror({ run: setup.run, from: setup.from, sequence, ...content });
    if (pace !== undefined) options = { ...options, pace };
    busy = false;
    setup.sent?.(content);
  }

  async function loop(): Promise<void> {
    let last: number | undefined;
    for (;;) {
      await condition(() => dirty || closed);
      if (closed) return;
      const { debounceMs, intervalMs, pace } = options;
      const earliest =
        last === undefined
          ? begun + (pace?.beginMs ?? 0)
          : last + Math.max(intervalMs, pace?.intervalMs ?? 0);
      await condition(() => closed, Math.max(debounceMs, earliest - Date.now()), {
        summary: 'gather changes',
      });
      if (closed) return;
      last = Date.now();
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
    options: () => options,
    follow: (pace) => {
      options = { ...options, pace };
    },
  };
}
