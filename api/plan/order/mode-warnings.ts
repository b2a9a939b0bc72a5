import { hookOf } from './hooks.js';
import type { Problem } from '../../core/problem.js';
import { readsMode } from '../when/when.js';
import type { Snapshot } from '../snapshot/snapshot.js';

const MAX_NAMES = 5;

/**
 * What a person should know before a run of this mode, or of none, is started: warnings `ModeNotSet` (conditions and hooks
 * ask for a mode that the execution does not set) and `NoDelete` (mode Delete leaves actions alone).
 */
export function modeWarnings(snapshot: Snapshot): Problem[] {
  const { mode, operation } = snapshot;
  if (operation === 'Revert') return [];
  const workflows = Object.entries(snapshot.workflows);
  if (mode === undefined) {
    const asking = workflows.flatMap(([key, { spec }]) =>
      spec.actions
        .filter((action) => hookOf(action) !== undefined || readsMode(action.when ?? ''))
        .map((action) => `${key}: ${action.name}`),
    );
    if (asking.length === 0) return [];
    const message = `is not set, though ${list(asking)} ask for it: conditions on mode are true, hooks of install and upgrade run, hooks of delete and rollback do not; set Install, Upgrade or Delete`;
    return [{ severity: 'warning', path: 'spec.mode', reason: 'ModeNotSet', message }];
  }
  const left = workflows.flatMap(([key, { skipped = [] }]) => skipped.map((name) => `${key}: ${name}`));
  if (left.length === 0) return [];
  const message = `is Delete, which leaves alone what it cannot take back: ${list(left)}; write actions for it with when: mode == "delete", or revert the execution that ran them`;
  return [{ severity: 'warning', path: 'spec.mode', reason: 'NoDelete', message }];
}

const list = (names: readonly string[]): string =>
  `${names.slice(0, MAX_NAMES).join(', ')}${names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''}`;
