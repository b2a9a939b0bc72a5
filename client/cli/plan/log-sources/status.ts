import { isTerminalExecution, isTerminalItem } from '../../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { actionMessages, briefNoteOf, endNote } from '../render/execution-tree.js';
import { withoutRepeats } from '../../core/render/repeats.js';
import { elapsed } from '../../core/render/time.js';
import { edgesOf } from '../transitions.js';
import type { LogEntry } from './entry.js';

/** What the status of an execution says: when the run and each item started and how it ended. */
export function statusEntries(execution: DRPlanExecution): LogEntry[] {
  const { metadata, spec, status = {} } = execution;
  const entries: LogEntry[] = [];
  const add = (time: string | undefined, subject: string, text: string, phase = ''): void => {
    if (time === undefined) return;
    const level = phase === 'Failed' ? 'error' : phase === 'Cancelled' ? 'warn' : 'info';
    entries.push({ time, source: 'status', level, subject, text });
  };

  add(metadata.creationTimestamp, metadata.name, `created (${spec.operationType} of plan ${spec.planRef})`);
  add(status.startTime, metadata.name, 'Running');
  for (const { edge, item } of edgesOf(execution)) {
    const { path, status: state } = item;
    if (edge === 'start') {
      add(state.startTime, path, 'Running');
    } else if (isTerminalItem(state.phase)) {
      const took =
        state.startTime !== undefined && state.completionTime !== undefined ? elapsed(state, 0) : '';
      const head = took === '' ? state.phase : `${state.phase} in ${took}`;
      const note = briefNoteOf(state);
      const time = state.completionTime ?? state.startTime ?? status.completionTime;
      add(time, path, note === '' ? head : `${head}: ${note}`, state.phase);
    }
  }
  if (status.cancelRequest !== undefined) {
    const { requestedBy, reason, via, time } = status.cancelRequest;
    const words = [
      `cancel asked for by ${via ?? 'someone'}`,
      ...(requestedBy === undefined ? [] : [`as ${requestedBy}`]),
      ...(reason === undefined ? [] : [`because: ${reason}`]),
    ];
    add(time, metadata.name, words.join(' '), 'Cancelled');
  }
  if (isTerminalExecution(status.phase)) {
    const end = withoutRepeats(endNote(status), actionMessages(status.stageStatuses ?? []));
    const words = [status.phase, end].filter((part) => part !== undefined && part !== '').join(': ');
    add(status.completionTime, metadata.name, words, status.phase);
  }
  return entries;
}
