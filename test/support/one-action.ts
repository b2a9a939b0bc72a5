/** Workflow code: one action through capture, attempts and settle, without the run around it. */
import type { ActionOutcome } from '../../workflows/contract.js';
import { executeAction } from '../../workflows/action.js';
import type { Series } from '../../workflows/action.js';

export function oneAction(series: Series): Promise<ActionOutcome> {
  return executeAction(series);
}
