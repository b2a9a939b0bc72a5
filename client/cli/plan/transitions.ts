import { elapsed } from '../core/render/time.js';
import type {
  ActionStatus,
  Condition,
  DRPlanExecution,
  StageStatus,
  WorkflowExecutionStatus,
} from '../../../api/plan/types.js';
import { isTerminalExecution, isTerminalItem } from '../../../api/core/phase.js';
import { withoutRepeats } from '../core/render/repeats.js';
import { actionMessages, briefNoteOf, endNote, noteOf } from './render/execution-tree.js';

/** A change of a run that a person wants to see. */
export interface Transition {
  /** When it happened, RFC 3339; the time it was seen where the status does not say. */
  time: string;
  level: 'run' | 'stage' | 'workflow' | 'action' | 'condition';
  /** `drain`, `drain/switch-traffic`, `drain/switch-traffic/tm-drain`; of the run its name; of a condition its type. */
  path: string;
  /** Phase now; of a condition its status; `Retry` for a further attempt of a running action. */
  phase: string;
  /** Time from start to end, once ended. */
  duration?: string;
  note?: string;
}

/** An item of a run: a stage, a workflow or an action, with its path by names. */
export interface Item {
  level: 'stage' | 'workflow' | 'action';
  path: string;
  status: StageStatus | WorkflowExecutionStatus | ActionStatus;
}

/** Conditions that say the same as the phase. */
const PHASE_CONDITIONS = new Set(['Succeeded', 'Finished']);

/**
 * What happened between two states of an execution, in the order of time. With `before` undefined: everything that has
 * happened so far. Items that passed through several phases unseen appear once, with the last.
 */
export function transitionsBetween(
  before: DRPlanExecution | undefined,
  after: DRPlanExecution,
  seenAt: string,
): Transition[] {
  const earlier = new Map(edgesOf(before).map(({ item }) => [item.path, item.status]));
  // On the walk through the tree, so that what has the same time stays in its order.
  const items = edgesOf(after)
    .filter(({ edge, item }) => edge === (isTerminalItem(item.status.phase) ? 'end' : 'start'))
    .flatMap(({ item }) => itemTransition(earlier.get(item.path), item, seenAt));
  return [
    ...runStart(before, after, seenAt),
    ...items.sort((a, b) => Date.parse(a.time) - Date.parse(b.time)),
    ...conditionTransitions(before, after, seenAt),
    ...runEnd(before, after, seenAt),
  ];
}

function runStart(before: DRPlanExecution | undefined, after: DRPlanExecution, seenAt: string): Transition[] {
  const phase = after.status?.phase;
  if (phase === undefined || isTerminalExecution(phase) || phase === before?.status?.phase) return [];
  return [
    {
      time: after.status?.startTime ?? seenAt,
      level: 'run',
      path: after.metadata.name,
      phase,
      note: after.status?.message,
    },
  ];
}

function runEnd(before: DRPlanExecution | undefined, after: DRPlanExecution, seenAt: string): Transition[] {
  const status = after.status;
  const phase = status?.phase;
  if (phase === undefined || !isTerminalExecution(phase) || phase === before?.status?.phase) return [];
  return [
    {
      time: status?.completionTime ?? seenAt,
      level: 'run',
      path: after.metadata.name,
      phase,
      duration: elapsed(
        { startTime: status?.startTime, completionTime: status?.completionTime ?? seenAt },
        0,
      ),
      note: withoutRepeats(endNote(status ?? {}), actionMessages(status?.stageStatuses ?? [])),
    },
  ];
}

function itemTransition(earlier: Item['status'] | undefined, item: Item, seenAt: string): Transition[] {
  const { status, level, path } = item;
  if (status.phase === 'Pending') return [];
  if (status.phase !== earlier?.phase) {
    const ended = isTerminalItem(status.phase);
    return [
      {
        time: (ended ? status.completionTime : status.startTime) ?? seenAt,
        level,
        path,
        phase: status.phase,
        ...(ended && status.startTime !== undefined && { duration: elapsed(status, Date.parse(seenAt)) }),
        note: briefNoteOf(status),
      },
    ];
  }
  if (level !== 'action' || status.phase !== 'Running') return [];
  const [now, then] = [status as ActionStatus, earlier as ActionStatus];
  if ((now.retryCount ?? 0) > (then.retryCount ?? 0)) {
    return [{ time: seenAt, level, path, phase: 'Retry', note: noteOf(now) }];
  }
  if (now.message !== undefined && now.message !== then.message) {
    return [{ time: seenAt, level, path, phase: 'Running', note: noteOf(now) }];
  }
  return [];
}

function conditionTransitions(
  before: DRPlanExecution | undefined,
  after: DRPlanExecution,
  seenAt: string,
): Transition[] {
  const earlier = new Map((before?.status?.conditions ?? []).map((condition) => [condition.type, condition]));
  const ended = isTerminalExecution(after.status?.phase);
  return (after.status?.conditions ?? [])
    .filter(({ type }) => !(ended && type === 'Progressing'))
    .filter((condition) => isNews(earlier.get(condition.type), condition))
    .map((condition) => ({
      time: condition.lastTransitionTime ?? seenAt,
      level: 'condition',
      path: condition.type,
      phase: condition.status,
      note: [condition.reason, condition.message].filter((part) => part !== '').join(': '),
    }));
}

function isNews(before: Condition | undefined, now: Condition): boolean {
  if (PHASE_CONDITIONS.has(now.type)) return false;
  const changed = before?.status !== now.status || before.reason !== now.reason;
  // Progress as it should be is no news, unless it was not so before.
  return changed && (now.type !== 'Progressing' || now.status !== 'True' || before?.status === 'False');
}

/** Where an item begins or ends, on a walk through the tree. */
export interface Edge {
  edge: 'start' | 'end';
  item: Item;
}

/**
 * The items of a run, each twice: what it contains lies between its start and its end. What is skipped with all that is
 * around it is left out: it says nothing more.
 */
export function edgesOf(execution: DRPlanExecution | undefined): Edge[] {
  return (execution?.status?.stageStatuses ?? []).flatMap((stage) => {
    const workflows = stage.workflowExecutions ?? [];
    const names = distinct(workflows.map((workflow) => workflow.workflowRef.name));
    const children = workflows.flatMap((workflow, index) => {
      const path = `${stage.name}/${names[index]}`;
      const actions = (workflow.actionStatuses ?? []).flatMap((action) =>
        around({ level: 'action', path: `${path}/${action.name}`, status: action }, []),
      );
      return around({ level: 'workflow', path, status: workflow }, actions);
    });
    return around({ level: 'stage', path: stage.name, status: stage }, children);
  });
}

function around(item: Item, children: Edge[]): Edge[] {
  const isSkipped = item.status.phase === 'Skipped';
  return [
    { edge: 'start', item },
    ...children.filter((child) => !isSkipped || child.item.status.phase !== 'Skipped'),
    { edge: 'end', item },
  ];
}

/** The same workflow may stand twice in a stage: the second one is `name#2`. */
function distinct(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  return names.map((name) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name}#${count}`;
  });
}
