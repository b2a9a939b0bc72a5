import { isTerminalExecution } from '../../../api/core/phase.js';
import { setCondition } from '../../core/conditions.js';
import { refOf } from '../../core/object-ref.js';
import type { CachedExecution, DrDeps } from '../types.js';

/** Sets condition Progressing while the run goes on, and nothing else. */
export async function setProgressing(
  { writer, caches }: Pick<DrDeps, 'writer' | 'caches'>,
  execution: CachedExecution,
  condition: { status: 'True' | 'False'; reason: string; message: string },
): Promise<void> {
  await writer.status(caches.executions, refOf(execution), ({ status: known, metadata }) => {
    if (isTerminalExecution(known?.phase)) return undefined;
    const update = {
      type: 'Progressing',
      ...condition,
      ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    };
    return { ...known, conditions: setCondition(known?.conditions, update, new Date().toISOString()) };
  });
}
