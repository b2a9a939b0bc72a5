import { defineSignal, setHandler } from '@temporalio/workflow';
import type { CancellationScope } from '@temporalio/workflow';
import { SIGNALS } from './contract.js';
import type { CancelRecord, CancelRequest } from './contract.js';

/** Signal `cancel`: nothing, a string, or a {@link CancelRequest}, as different clients send it. */
export const cancelSignal = defineSignal<[unknown?]>(SIGNALS.cancel);

/** The one path by which a workflow is cancelled. */
export interface Cancellation {
  /** Set once, by the first request. */
  readonly record: CancelRecord | undefined;
  /** Whether a request asked to abort a rollback too. */
  readonly forced: boolean;
  /** Takes over a request that reached another workflow of the run. */
  accept(request: CancelRequest, via: string): void;
}

/**
 * Listens for a cancel by signal and by Temporal's own cancel request. Both take the same path, and any number of them
 * has the effect of one. Call it before the first await, once everything that `onCancel` touches exists.
 *
 * @param root the workflow's root scope: the only one that Temporal's cancel request reaches.
 * @param onCancel called on the first request, and again when a later one is the first to force.
 */
export function listenForCancel(
  root: CancellationScope,
  onCancel: (cancellation: Cancellation) => void,
): Cancellation {
  const state: { -readonly [K in keyof Cancellation]: Cancellation[K] } = {
    record: undefined,
    forced: false,
    accept: (request, via) => {
      accept(request, via);
    },
  };
  const accept = (request: CancelRequest, via: string): void => {
    const first = state.record === undefined;
    const firstForced = request.force === true && !state.forced;
    if (!first && !firstForced) return;
    state.forced ||= firstForced;
    state.record ??= {
      ...(request.reason !== undefined && { reason: request.reason }),
      ...(request.requestedBy !== undefined && { requestedBy: request.requestedBy }),
      via: request.via ?? via,
      time: new Date().toISOString(),
    };
    onCancel(state);
  };
  setHandler(cancelSignal, (argument) => {
    accept(readRequest(argument), 'Signal');
  });
  root.cancelRequested.catch(() => {
    accept({}, 'CancelRequest');
  });
  return state;
}

const VIA = ['Annotation', 'Signal', 'CancelRequest', 'Delete'] as const;

/** Reads whatever a person typed behind `--input`; a cancel is never refused for its argument. */
export function readRequest(argument: unknown): CancelRequest {
  if (typeof argument === 'string') return argument === '' ? {} : { reason: argument };
  if (typeof argument !== 'object' || argument === null) return {};
  const { reason, requestedBy, via, force } = argument as Record<string, unknown>;
  const known = VIA.find((value) => value === via);
  return {
    ...(typeof reason === 'string' && { reason }),
    ...(typeof requestedBy === 'string' && { requestedBy }),
    ...(known !== undefined && { via: known }),
    ...(force === true && { force }),
  };
}
