import { isTerminalExecution, isTerminalItem } from '../../api/phase.js';
import type { DRPlanExecution } from '../../api/types.js';
import { noteOf } from '../render/execution-tree.js';
import { elapsed } from '../render/time.js';
import { itemsOf } from '../transitions.js';
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
  const items = itemsOf(execution);
  // Starts from the outside in, ends from the inside out, where both have the same time.
  for (const { path, status: item } of [...items].sort((a, b) => depth(a.path) - depth(b.path))) {
    if (item.startTime !== undefined) add(item.startTime, path, 'Running');
  }
  for (const { path, status: item } of items) {
    if (!isTerminalItem(item.phase)) continue;
    const time =
      item.completionTime ?? (item.startTime === undefined ? status.completionTime : item.startTime);
    const took = item.startTime !== undefined && item.completionTime !== undefined ? elapsed(item, 0) : '';
    const head = took === '' ? item.phase : `${item.phase} in ${took}`;
    const note = noteOf(item);
    add(time, path, note === '' ? head : `${head}: ${note}`, item.phase);
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
    const note = [status.reason, status.message].filter(Boolean).join(': ');
    add(
      status.completionTime,
      metadata.name,
      note === '' ? status.phase! : `${status.phase}: ${note}`,
      status.phase,
    );
  }
  return entries;
}

const depth = (path: string): number => path.split('/').length;
