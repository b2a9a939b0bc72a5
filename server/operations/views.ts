/** Operations as those see them that ask. */
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  Operation,
  OperationRecord,
  OperationView,
  StateAnswer,
} from '../../api/terraform/operation.js';
import type { ResourceMove } from '../../api/terraform/operation-result.js';
import type { OperationStep } from '../../api/terraform/operation-terms.js';
import type { OperationState } from '../../store/operations.js';
import type { VersionRow } from '../../store/rows.js';
import type { StateStore } from '../../store/state-store.js';

/** Another server may have changed what is waited for: it is looked at this often. */
const LOOK_MS = 1000;

/** The record of an operation. The store keeps what only others read as it came. */
export const recordOf = ({ operation }: OperationState): OperationRecord =>
  operation.record as OperationRecord;

/** An operation as it stands. */
export function viewOf(state: OperationState): OperationView {
  const { operation, beat, revision } = state;
  return {
    operation: operation.spec as Operation,
    record: recordOf(state),
    revision,
    ...(beat !== undefined && { heartbeatAt: beat.at, step: beat.step as OperationStep }),
    moves: (beat?.moves ?? []) as ResourceMove[],
    control: operation.control,
  };
}

/** A version as an operation sees it. */
export const stateAnswerOf = ({ content, facts, kind }: VersionRow): StateAnswer => ({
  digest: content.digest,
  facts,
  isFinal: kind === 'final',
  ...(kind === 'late' && { late: true }),
});

/**
 * The operation once it has a later revision than is known, or as it is when the time is over.
 *
 * @param options.signal ends the wait
 */
export async function waitForChange(
  store: StateStore,
  id: string,
  { after, waitMs, signal }: { after: number; waitMs: number; signal: AbortSignal },
): Promise<OperationState> {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const change = nextChange(store, id, signal);
    try {
      const state = await store.operations.operation(id);
      const left = deadline - Date.now();
      if (state.revision > after || left <= 0 || signal.aborted) return state;
      await Promise.race([change.seen, sleep(Math.min(left, LOOK_MS), undefined, { ref: false })]);
    } finally {
      change.end();
    }
  }
}

/** Listens before it is looked, so that nothing falls between. */
function nextChange(
  store: StateStore,
  id: string,
  signal: AbortSignal,
): { seen: Promise<void>; end: () => void } {
  let end: () => void = () => undefined;
  const seen = new Promise<void>((resolve) => {
    const over = store.onChange(id, resolve);
    const gone = (): void => resolve();
    signal.addEventListener('abort', gone, { once: true });
    end = () => {
      over();
      signal.removeEventListener('abort', gone);
    };
  });
  return { seen, end };
}
