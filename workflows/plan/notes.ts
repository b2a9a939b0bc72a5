import { defineSignal, patched, setHandler } from '@temporalio/workflow';
import type { ActionAddress } from '../../api/plan/snapshot/run.js';
import type { StageStatus } from '../../api/plan/types.js';
import { PLAN_SIGNALS } from './contract.js';
import type { AttemptNote } from './contract-tasks.js';

/** What a worker says of an action that goes on. */
export const noteSignal = defineSignal<[AttemptNote]>(PLAN_SIGNALS.note);

/**
 * Writes what workers say of running actions into the status of a stage, or of its rollback. Ignores a note that comes
 * after its action has ended, and one that cannot be read.
 *
 * @param changed called with the action that changed
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

/** Shows what workers say to a run in the run's message, as it has no actions of its own. */
export function listenForRunNotes(say: (message: string) => void): void {
  listenForMessages((message) => {
    if (patched(RUN_TELLS)) say(message);
  });
}

/** Takes the words alone of what workers say, whatever action they are about. */
export function listenForMessages(say: (message: string) => void): void {
  setHandler(noteSignal, (note: Partial<AttemptNote> | undefined) => {
    if (typeof note?.message === 'string') say(note.message);
  });
}

const isOf =
  (cluster: string) =>
  (one: { cluster: string }): boolean =>
    one.cluster === cluster;
