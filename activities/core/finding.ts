import type { Refusal } from '../../api/core/refusal.js';
import { isListable } from './egress-rules.js';

/** What was found about one object, or about an action as a whole. */
export interface Finding {
  /**
   * `problem`: the action would fail. `warning`: it would go on, with what the message says. `untried`: nothing can be
   * said yet.
   */
  level: 'ok' | 'warning' | 'problem' | 'untried';
  /**
   * The reason that the action would fail with; those of the other levels are `Accepted`, `TakesOver`, `TakesAway`,
   * `ReplacesList`, `LiteralPlaceholder`, `NotChecked` and `NotTried`.
   */
  reason: string;
  message: string;
}

/** Nothing can be said yet. */
export const untried = (message: string): Finding => ({ level: 'untried', reason: 'NotTried', message });

/** The action would fail, as the run would say it. */
export const problem = ({ reason, message }: Refusal): Finding => ({ level: 'problem', reason, message });

/**
 * The action would not be let out, as the run would say it.
 *
 * @param listsUnknown whether a list of the workers, which is not known here, may allow it: then it only warns
 */
export const notLetOut = ({ reason, message }: Refusal, listsUnknown: boolean): Finding => ({
  level: listsUnknown && reason === 'EgressRefused' && isListable(message) ? 'warning' : 'problem',
  reason,
  message,
});
