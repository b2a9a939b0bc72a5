import { MAX_HISTORY } from '../../../api/plan/schema/plan.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { ExecutionRecord } from '../../../api/plan/types.js';

/** A row to write; the `uid` identifies it. */
export type HistoryRow = ExecutionRecord & { uid: string };

/**
 * The row of an execution that the original controller has run: it kept no uid there. A row that is still open, or
 * began at the same moment, belongs to this very execution and to no other of its name.
 */
function isInheritedRow(candidate: ExecutionRecord, row: HistoryRow): boolean {
  if (candidate.uid !== undefined || candidate.name !== row.name || !isTerminalExecution(row.phase))
    return false;
  const isSameStart = row.startTime !== undefined && candidate.startTime === row.startTime;
  return !isTerminalExecution(candidate.phase) || isSameStart;
}

/**
 * Puts a row into a plan's history: newest first, ten, one row per uid (S5.23). A row that is
 * there keeps its place and its start; a row that has ended is never opened again.
 */
export function recordRow(
  history: readonly ExecutionRecord[] | undefined,
  row: HistoryRow,
): ExecutionRecord[] {
  const rows = history ?? [];
  const known =
    rows.find((candidate) => candidate.uid === row.uid) ??
    rows.find((candidate) => isInheritedRow(candidate, row));
  if (known === undefined) return [row, ...rows].slice(0, MAX_HISTORY);
  if (isTerminalExecution(known.phase) && !isTerminalExecution(row.phase)) return [...rows];
  const startTime = known.startTime ?? row.startTime;
  const merged = { ...known, ...row, ...(startTime !== undefined && { startTime }) };
  return rows.map((candidate) => (candidate === known ? merged : candidate));
}

/** The row of an execution. */
export function rowOf(
  history: readonly ExecutionRecord[] | undefined,
  uid: string,
): ExecutionRecord | undefined {
  return history?.find((row) => row.uid === uid);
}
