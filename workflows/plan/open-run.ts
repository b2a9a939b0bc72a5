import { CancellationScope, defineQuery, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { isTerminalItem } from '../../api/core/phase.js';
import { pendingStage } from '../../api/plan/progress.js';
import type { StageStatus } from '../../api/plan/types.js';
import { listenForCancel } from '../core/cancel.js';
import type { CancelRecord } from '../core/contract.js';
import { createOutbox } from '../core/outbox.js';
import type { Outbox } from '../core/outbox.js';
import { now } from '../core/outcome.js';
import type { Cause } from '../core/outcome.js';
import { shellOf } from './changes.js';
import { createChildren } from './children.js';
import { QUERIES } from './contract.js';
import type { RunInput, RunProgress } from './contract.js';
import type { StageUpdate } from './contract-updates.js';
import { listenForRunNotes } from './notes.js';
import type { RunContext } from './run-context.js';
import { startRunMirror } from './run-mirror.js';
import type { RunContent, RunMirror } from './run-mirror.js';

/** Query `progress`: the run as it sees itself. */
export const progressQuery = defineQuery<RunProgress>(QUERIES.progress);

/** A run under way, and what its end needs of it. */
export interface OpenRun {
  context: RunContext;
  mirror: RunMirror;
  /** Stages whose last word is not yet known to be in status. */
  outbox: Outbox<StageUpdate>;
  /** Workflow ids of all children that were asked for. */
  begun: ReadonlySet<string>;
  /** What the run says of itself as a whole. */
  shown: Shown;
}

interface Shown {
  phase: RunProgress['phase'];
  startTime: string;
  message: string | undefined;
  cancelRequest: CancelRecord | undefined;
}

/**
 * Opens a run: its stages in their first state, its mirror, and everything that it listens to. Must be called before the
 * first await, inside a non-cancellable scope.
 *
 * @param root the workflow's root scope
 */
export function openRun(input: RunInput, startTime: string, root: CancellationScope): OpenRun {
  const { run } = input;
  const stages = initialStages(input);
  const outbox = createOutbox<StageUpdate>();
  const shown: Shown = { phase: 'Running', startTime, message: undefined, cancelRequest: undefined };
  const forward = new CancellationScope();
  const rollback = new CancellationScope();
  const mirror = startRunMirror({
    run,
    from: 'run',
    options: input.mirror,
    collect: () => {
      const batch = outbox.take();
      if (outbox.hasUnsent()) mirror.touch();
      return { stages: batch, ...noticeOf(shown) };
    },
    sent: (content) => {
      outbox.acknowledge(content.stages);
    },
  });
  const announce = (message: string | undefined): void => {
    shown.message = message;
    mirror.touch();
  };
  const { runChild, begun, force } = createChildren({
    plan: run.plan.name,
    stages,
    onPace: mirror.follow,
    onCancelled: ({ via, reason, requestedBy }) => {
      cancellation.accept(
        { ...(reason !== undefined && { reason }), ...(requestedBy !== undefined && { requestedBy }) },
        via,
      );
    },
  });
  const cancellation = listenForCancel(root, ({ forced, record }) => {
    shown.cancelRequest = record;
    forward.cancel();
    if (forced) {
      rollback.cancel();
      force(record);
    }
    announce(`cancelling${record?.reason === undefined ? '' : `: ${record.reason}`}`);
  });
  setHandler(progressQuery, () => {
    const { phase } = shown;
    return { phase, startTime, stages, ...noticeOf(shown) };
  });
  let order = 0;
  const settle = createSettle({ stages, outbox, announce, touch: mirror.touch });
  const context: RunContext = {
    input,
    stages,
    forward,
    rollback,
    isCancelled: () => shown.cancelRequest !== undefined,
    vouchers: new Map(),
    nextOrder: () => (order += 1),
    announce,
    settle,
    mirrorOptions: mirror.options,
    skip: (index, cause) => {
      const status = stages[index];
      if (status !== undefined) settle(index, skipWhole(status, cause, now()));
    },
    runChild,
  };
  return { context, mirror, outbox, begun, shown };
}

const noticeOf = ({ message, cancelRequest }: Shown): Pick<RunContent, 'message' | 'cancelRequest'> => ({
  ...(message !== undefined && { message }),
  ...(cancelRequest !== undefined && { cancelRequest }),
});

/** Takes over the last word of stages, and shows meanwhile what settling one that was ended waits for. */
function createSettle(run: {
  stages: StageStatus[];
  outbox: Outbox<StageUpdate>;
  announce: (message: string) => void;
  touch: () => void;
}): RunContext['settle'] {
  const { stages, outbox, announce, touch } = run;
  /** The message shows what settling an ended stage waits for. */
  let isTold = false;
  listenForRunNotes((text) => {
    isTold = true;
    announce(text);
  });
  return (index, status, detail, settled = []) => {
    stages[index] = status;
    outbox.put({
      index,
      status: detail === 'told' ? shellOf(status) : status,
      ...(detail !== undefined && { [detail]: true }),
      ...(settled.length > 0 && { settled }),
    });
    setCurrentDetails(describe(stages));
    if (isTold && detail === 'interrupted') {
      isTold = false;
      announce(`what stage "${status.name}" had begun is settled`);
    }
    touch();
  };
}

/** The status of a stage to undo comes with its undo; `undoStatuses` has only its name. */
function initialStages({ stages, undo, undoStatuses }: RunInput): StageStatus[] {
  const planned = new Map(undo.map((stage) => [stage.index, stage.status]));
  return undoStatuses?.map((status, index) => planned.get(index) ?? status) ?? stages.map(pendingStage);
}

function skipWhole(status: StageStatus, cause: Cause, at: string): StageStatus {
  const skipped = { phase: 'Skipped', reason: cause.reason, message: cause.message, completionTime: at };
  return {
    ...status,
    ...skipped,
    workflowExecutions: status.workflowExecutions?.map((workflow) =>
      isTerminalItem(workflow.phase)
        ? workflow
        : {
            ...workflow,
            ...skipped,
            actionStatuses: workflow.actionStatuses?.map((action) =>
              isTerminalItem(action.phase) ? action : { ...action, ...skipped },
            ),
          },
    ),
  };
}

/** What the Web UI shows of a run: a line a stage. Costs no history. */
const describe = (stages: readonly StageStatus[]): string =>
  stages
    .map(
      (stage) =>
        `- **${stage.name}** ${stage.phase}${stage.reason === undefined ? '' : ` (${stage.reason})`}`,
    )
    .join('\n');
