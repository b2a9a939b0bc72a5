/** Workflow code: one action through capture, attempts and settle, without the run around it. */
import type { ActionOutcome } from '../../workflows/plan/contract-tasks.js';
import { executeAction } from '../../workflows/plan/action.js';
import type { Series } from '../../workflows/plan/series.js';

export function oneAction(series: Series): Promise<ActionOutcome> {
  return executeAction(series);
}
