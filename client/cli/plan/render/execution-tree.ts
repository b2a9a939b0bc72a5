import type { ActionStatus, StageStatus, WorkflowExecutionStatus } from '../../../../api/plan/types.js';
import { isTerminalItem } from '../../../../api/core/phase.js';
import { withoutRepeats } from '../../core/render/repeats.js';
import { elapsed } from '../../core/render/time.js';
import type { TreeNode } from '../../core/render/tree.js';

/** The stages of a run as a tree of stages, workflows and actions. */
export function executionTree(stages: readonly StageStatus[], now: number): TreeNode[] {
  return stages.map((stage) => ({
    phase: stage.phase,
    label: stage.name,
    kind: stage.parallel === true ? 'parallel' : '',
    time: elapsed(stage, now),
    note: briefNoteOf(stage),
    children: (stage.workflowExecutions ?? []).map((workflow) => workflowNode(workflow, now)),
  }));
}

function workflowNode(workflow: WorkflowExecutionStatus, now: number): TreeNode {
  return {
    phase: workflow.phase,
    label: workflow.workflowRef.name,
    kind: '',
    time: elapsed(workflow, now),
    note: briefNoteOf(workflow),
    children: (workflow.actionStatuses ?? []).map((action) => actionNode(action, now)),
  };
}

function actionNode(action: ActionStatus, now: number): TreeNode {
  return {
    phase: action.phase,
    label: action.name,
    kind: action.type ?? '',
    time: elapsed(action, now),
    note: noteOf(action),
    children: (action.clusterStatuses ?? []).map((cluster) => ({
      phase: cluster.phase,
      label: cluster.cluster,
      kind: '',
      time: elapsed(cluster, now),
      note: noteOf(cluster),
      children: [],
    })),
  };
}

/** Reason, message and retries of an item in one line. */
export function noteOf(item: {
  phase: string;
  reason?: string;
  message?: string;
  retryCount?: number;
}): string {
  const reason = item.phase === 'Failed' || item.phase === 'Skipped' ? item.reason : undefined;
  const words = [reason, item.message].filter((part) => part !== undefined && part !== '').join(': ');
  const retries = item.retryCount ?? 0;
  const suffix = retries > 0 ? `(${retries} ${retries === 1 ? 'retry' : 'retries'})` : '';
  return [words, suffix].filter((part) => part !== '').join(' ');
}

/** The note of a stage or a workflow, without what the actions below it say themselves. */
export const briefNoteOf = (item: StageStatus | WorkflowExecutionStatus | ActionStatus): string => {
  const { message } = item;
  const brief = message === undefined ? undefined : withoutRepeats(message, messagesBelow(item));
  return noteOf({ ...item, ...(brief !== undefined && { message: brief }) });
};

function messagesBelow(item: StageStatus | WorkflowExecutionStatus | ActionStatus): string[] {
  if ('workflowExecutions' in item) return actionMessages([item]);
  if ('actionStatuses' in item) return (item.actionStatuses ?? []).map(({ message }) => message ?? '');
  return [];
}

/** What the actions of stages say. */
export const actionMessages = (stages: readonly StageStatus[]): string[] =>
  stages.flatMap(({ workflowExecutions = [] }) =>
    workflowExecutions.flatMap(({ actionStatuses = [] }) =>
      actionStatuses.map(({ message }) => message ?? ''),
    ),
  );

/** Reason and message of a run that has ended, without a reason that only repeats the phase. */
export function endNote(status: { phase?: string; reason?: string; message?: string }): string {
  const reason = status.phase === 'Succeeded' || status.reason === status.phase ? undefined : status.reason;
  return [reason, status.message].filter((part) => part !== undefined && part !== '').join(': ');
}

/**
 * A tree cut down to a number of lines. What is going on and what went wrong stays longest: first the actions of ended
 * stages are folded, then those of waiting ones, then ended workflows, then the rest from the end.
 */
export function compactTree(nodes: readonly TreeNode[], maxLines: number): TreeNode[] {
  let tree = [...nodes];
  const folds: ((node: TreeNode) => boolean)[] = [
    (node) => node.phase === 'Succeeded' || node.phase === 'Skipped',
    (node) => node.phase === 'Pending',
    (node) => isTerminalItem(node.phase),
  ];
  for (const fits of folds) {
    if (countLines(tree) <= maxLines) return tree;
    tree = tree.map((node) => (fits(node) ? folded(node) : node));
  }
  if (countLines(tree) <= maxLines) return tree;
  tree = tree.map((node) => ({
    ...node,
    children: node.children.map((child) => (child.phase === 'Running' ? child : folded(child))),
  }));
  if (countLines(tree) <= maxLines) return tree;
  // Many stages: those that have ended and those that wait become one line each way.
  return aroundTheActive(tree, maxLines);
}

function aroundTheActive(tree: readonly TreeNode[], maxLines: number): TreeNode[] {
  const isActive = (node: TreeNode): boolean => node.phase === 'Running' || node.phase === 'Failed';
  const kept: TreeNode[] = [];
  let hidden: TreeNode[] = [];
  const flush = (): void => {
    if (hidden.length === 1) kept.push(hidden[0]!);
    if (hidden.length > 1) kept.push(summaryOf(hidden));
    hidden = [];
  };
  for (const node of tree) {
    if (isActive(node)) {
      flush();
      kept.push(node);
    } else hidden.push(node);
  }
  flush();
  if (countLines(kept) <= maxLines) return kept;
  const flat = kept.map(folded);
  if (flat.length <= maxLines) return flat;
  const room = Math.max(0, maxLines - 1);
  return [...flat.slice(0, room), summaryOf(flat.slice(room))].slice(0, Math.max(1, maxLines));
}

function summaryOf(nodes: readonly TreeNode[]): TreeNode {
  const counts = new Map<string, number>();
  for (const { phase = '' } of nodes) counts.set(phase, (counts.get(phase) ?? 0) + 1);
  const words = [...counts].map(([phase, count]) => `${count} ${phase || 'more'}`).join(', ');
  return { label: `… ${words}`, children: [] };
}

function folded(node: TreeNode): TreeNode {
  const actions = countLines(node.children);
  if (actions === 0) return node;
  return { ...node, children: [] };
}

function countLines(nodes: readonly TreeNode[]): number {
  return nodes.reduce((sum, node) => sum + 1 + countLines(node.children), 0);
}
