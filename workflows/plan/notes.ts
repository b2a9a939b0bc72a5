import { defineSignal, patched, setHandler } from '@temporalio/workflow';
import type { ActionAddress } from '../../api/plan/snapshot/run.js';
import type { StageStatus } from '../../api/plan/types.js';
import { SIGNALS } from './contract.js';
import type { AttemptNote } from './contract.js';

/** What a worker says of an action that goes on. */
export const noteSignal = defineSignal<[AttemptNote]>(SIGNALS.note);

/**
 * Lays what workers say of running actions into the status of a stage, or of its rollback. A note that comes after the
 * action has ended is old, and one that cannot be read is nobody's.
 *
 * @param changed told which action changed
 */
export function listenForNotes(status: StageStatus, changed: (at: ActionAddress) => void): void {
  setHandler(noteSignal, (note: Partial<AttemptNote> | undefined) => {
    const { at, message, retryCount } = note ?? {};
    if (at === undefined || typeof message !== 'string') return;
    const action = status.workflowExecutions?.[at.workflow]?.actionStatuses?.[at.action];
    const own = at.cluster === undefined ? action : action?.clusterStatuses?.find(isOf(at.cluster));
    if (own?.phase !== 'Running') return;
    own.message = message;
    if (typeof retryCount === 'number') own.retryCount = retryCount;
    changed(at);
  });
}

/** The run shows what workers say while they settle what an ended stage has left; runs begun before 0.2 show none of it. */
const RUN_TELLS = 'run-tells-notes';

/** Lays what workers say to a run, which has no actions of its own, into its message. */
export function listenForRunNotes(say: (message: string) => void): void {
  setHandler(noteSignal, (note: Partial<AttemptNote> | undefined) => {
    if (typeof note?.message === 'string' && patched(RUN_TELLS)) say(note.message);
  });
}

const isOf =
  (cluster: string) =>
  (one: { cluster: string }): boolean =>
    one.cluster === cluster;
