/** Workflow code: one action through capture, attempts and settle, without the run around it. */
import type { ActionOutcome } from '../../workflows/plan/contract-tasks.js';
import { executeAction } from '../../workflows/plan/action.js';
import type { SeriesSetup } from '../../workflows/plan/series.js';

export function oneAction(series: SeriesSetup): Promise<ActionOutcome> {
  return executeAction(series);
}
