import { ANNOTATIONS } from '../../../api/core/group.js';
import { runWorkflowId } from '../../../api/plan/naming.js';
import { readNesting } from '../../../api/plan/order/nesting.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { Change } from '../../../kube/informer.js';
import { rollbackWorkflowId, stageWorkflowId } from '../../../workflows/plan/contract.js';
import { findCondition } from '../../core/conditions.js';
import { fieldsOf } from '../log-fields.js';
import type { CachedExecution, DrDeps } from '../types.js';

/** A process that starts up reports only executions that ended less than this ago. */
const RECENT_MS = 3_600_000;

/**
 * Tells a run that an execution of one of its nested plans has changed, so that it looks at once. Only a hint: a run that
 * misses it looks by itself a while later.
 */
export function createNudge(
  deps: Pick<DrDeps, 'runs' | 'cluster' | 'log'>,
): (change: Change<CachedExecution>) => void {
  async function tell(stage: string, rollback: string): Promise<void> {
    if ((await deps.runs.look(stage)) === 'notRunning') await deps.runs.look(rollback);
  }

  return (change) => {
    const { object } = change;
    const nesting = readNesting(object.metadata.annotations?.[ANNOTATIONS.nestedIn]);
    if (nesting === undefined || !isNews(change)) return;
    const { parent, at } = nesting;
    const { namespace = '' } = object.metadata;
    const runId = runWorkflowId({ cluster: deps.cluster, namespace, ...parent });
    const stage = Number(at.split('/', 1)[0]);
    // Rollbacks and hooks around them belong to another workflow than the stage itself.
    tell(stageWorkflowId(runId, stage), rollbackWorkflowId(runId, stage)).catch((error: unknown) => {
      deps.log.debug(
        { ...fieldsOf(object), runId, err: error },
        'could not tell a run to look at its nested execution',
      );
    });
  };
}

function isNews(change: Change<CachedExecution>): boolean {
  if (change.kind === 'gone') return true;
  const { object, previous } = change;
  if (previous !== undefined) return stateOf(object) !== stateOf(previous);
  const ended = Date.parse(object.status?.completionTime ?? '');
  return isTerminalExecution(object.status?.phase) && Date.now() - ended < RECENT_MS;
}

/** What a waiting action shows of it, except its progress. */
function stateOf({ status, metadata }: CachedExecution): string {
  const progressing = findCondition(status?.conditions, 'Progressing');
  return JSON.stringify([
    metadata.uid,
    status?.phase,
    progressing?.status === 'False' ? progressing.reason : '',
  ]);
}
