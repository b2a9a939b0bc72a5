import { condition } from '@temporalio/workflow';
import type { MirrorOptions, MirrorPace } from './contract.js';

/** Sends a workflow's own state into status, at most one step at a time. */
export interface Mirror<Content, Options extends MirrorOptions = MirrorOptions> {
  /** Says that there is something new. */
  touch: () => void;
  /** Sends at once and waits: only for what must be in status before the workflow goes on. */
  flush: (content: Content) => Promise<void>;
  /** Does something else that counts as an update, and sends nothing meanwhile. */
  alone: <T>(work: () => Promise<T>) => Promise<T>;
  /** Sends what is still to be said, waits until it is in status, and stops sending. */
  finish: () => Promise<void>;
  /** Stops sending. A step under way is left to end by itself. */
  close: () => void;
  /** Number for the next update of this speaker. */
  nextSequence: () => number;
  /** The options as the bridge has them now, for workflows that are started from here. */
  options: () => Options;
  /** Takes over the pace that the bridge has asked of a workflow started from here. */
  follow: (pace: MirrorPace) => void;
}

/** What a mirror is made of. */
export interface MirrorSetup<Content, Options extends MirrorOptions = MirrorOptions> {
  options: Options;
  /** What changed since the last call; undefined when there is nothing to say. */
  collect: () => Content | undefined;
  /**
   * Hands a step to the bridge, never giving up: status is late while the bridge is away, never lost.
   *
   * @param sequence rises with every step, from 1
   * @returns the pace that the bridge asks for; undefined leaves it as it is
   */
  send: (content: Content, sequence: number) => Promise<MirrorPace | undefined>;
  /** What `collect` or `flush` gave is in status. */
  sent?: (content: Content) => void;
}

/**
 * Starts mirroring. Must be called inside a non-cancellable scope: progress must be shown above all while a run is
 * being cancelled.
 *
 * A change waits `debounceMs`, so that changes that come together share a step; the first one waits until `beginMs`, so
 * that a workflow which is over by then costs no step of its own; steps are at least `intervalMs` apart. A step is never
 * awaited by the workflow (measured: awaiting them costs a quarter to a half of a short run's time).
 */
export function startMirror<Content, Options extends MirrorOptions = MirrorOptions>(
  setup: MirrorSetup<Content, Options>,
): Mirror<Content, Options> {
  const begun = Date.now();
  let options = setup.options;
  let sequence = 0;
  let dirty = false;
  let closed = false;
  let busy = false;
  /** Who wants to be alone, and whether somebody is. */
  let held = 0;
  let taken = false;

  async function send(content: Content): Promise<void> {
    sequence += 1;
    busy = true;
    const pace = await setup.send(content, sequence);
    if (pace !== undefined) options = { ...options, pace };
    busy = false;
    setup.sent?.(content);
  }

  /** How long the change that has just come waits, `last` being when the step before it was begun. */
  function waitMs(last: number | undefined): number {
    const { debounceMs, intervalMs, pace } = options;
    const earliest =
      last === undefined ? begun + (pace?.beginMs ?? 0) : last + Math.max(intervalMs, pace?.intervalMs ?? 0);
    return Math.max(debounceMs, earliest - Date.now());
  }

  async function loop(): Promise<void> {
    let last: number | undefined;
    for (;;) {
      await condition(() => dirty || closed);
      if (closed) return;
      await condition(() => closed, waitMs(last), { summary: 'gather changes' });
      if (closed) return;
      // No await where nothing is held: recorded histories have none.
      while (held > 0) await condition(() => held === 0);
      if (closed) return;
      last = Date.now();
      dirty = false;
      const content = setup.collect();
      if (content !== undefined) await send(content);
    }
  }

  // A step is retried for ever and cannot be cancelled here, so this only rejects when the workflow is torn down.
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
    async alone(work) {
      held += 1;
      // Conditions that become true together are not looked at again by those who waited.
      while (busy || taken) await condition(() => !busy && !taken);
      taken = true;
      try {
        return await work();
      } finally {
        taken = false;
        held -= 1;
      }
    },
    async finish() {
      while (busy || held > 0) await condition(() => !busy && held === 0);
      closed = true;
      const content = dirty ? setup.collect() : undefined;
      if (content !== undefined) await send(content);
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
