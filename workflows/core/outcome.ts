/** How an outcome becomes a status: the rules that hold for whatever has effects, in runs of any kind. */

/** Why something was not started, or was cut short: a stable CamelCase reason, and words for a person. */
export interface Cause {
  reason: string;
  message: string;
}

/** Whether an effect is there, is not, or may be. */
export type Effect = 'Done' | 'None' | 'Unknown';

/** The part of a status that says how far an item is. */
export interface ItemStatus {
  phase: string;
  reason?: string | undefined;
  message?: string | undefined;
  completionTime?: string | undefined;
}

/** The status of something that has an effect. */
export interface EffectStatus extends ItemStatus {
  round?: number | undefined;
  retryCount?: number | undefined;
  effect?: Effect | undefined;
}

/** How something that has an effect ended. */
export type Ended = { message?: string; round: number; retryCount: number } & (
  | { phase: 'Succeeded' }
  | { phase: 'Skipped'; reason: string }
  | { phase: 'Failed'; reason: string; effect: Effect }
);

/** The moment of the workflow task, RFC 3339 with milliseconds. */
export const now = (): string => new Date().toISOString();

/** Marks something that never began. */
export function skip(item: ItemStatus, { reason, message }: Cause): void {
  item.phase = 'Skipped';
  item.reason = reason;
  item.message = message;
  item.completionTime = now();
}

/** Writes an outcome into a status; a reason and a message from before go. */
export function writeOutcome(status: EffectStatus, outcome: Ended): void {
  status.phase = outcome.phase;
  status.completionTime = now();
  status.round = outcome.round;
  if (outcome.retryCount > 0) status.retryCount = outcome.retryCount;
  delete status.reason;
  delete status.message;
  if (outcome.message !== undefined) status.message = outcome.message;
  switch (outcome.phase) {
    case 'Succeeded':
      status.effect = 'Done';
      return;
    case 'Skipped':
      status.reason = outcome.reason;
      return;
    case 'Failed':
      status.reason = outcome.reason;
      // An earlier round may have had its effect although this one had none.
      status.effect = strongest([status.effect ?? 'None', outcome.effect]);
  }
}

/** What is known of several effects taken together; of none: None. */
export function strongest(effects: readonly Effect[]): Effect {
  if (effects.includes('Done')) return 'Done';
  return effects.includes('Unknown') ? 'Unknown' : 'None';
}
