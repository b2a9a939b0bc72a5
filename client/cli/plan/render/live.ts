import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { attentionOf, describeCondition } from './attention.js';
import { compactTree, executionTree } from './execution-tree.js';
import { progressText } from './run-progress.js';
import type { Style } from '../../core/render/style.js';
import { clip, cut, oneLine } from '../../core/render/text.js';
import { elapsed } from '../../core/render/time.js';
import { renderTree } from '../../core/render/tree.js';

/** What the live picture of a run is made of. */
export interface LiveFrame {
  execution: DRPlanExecution;
  now: number;
  style: Style;
  columns: number;
  /** Lines there are; the picture never takes more. */
  rows: number;
  /** Something about the watching itself, such as a lost connection. */
  notice?: string;
  /** Last line, while the run goes on. */
  footer?: string;
}

/** The picture of a run that is redrawn while it goes on. */
export function liveLines(frame: LiveFrame): string[] {
  const { execution, now, style, columns, rows } = frame;
  const { status } = execution;
  const ended = isTerminalExecution(status?.phase);
  const attention = attentionOf(status?.conditions ?? [], ended).map(describeCondition);
  if (frame.notice !== undefined) attention.push(frame.notice);
  const top = [clip(headline(execution, now, style), columns, style.unicode)];
  if (!ended && status?.message) top.push(style.dim(cut(oneLine(status.message), columns, style.unicode)));
  const bottom = attention.map((text) => style.warn(cut(oneLine(text), columns, style.unicode)));
  if (!ended && frame.footer !== undefined) bottom.push(style.dim(cut(frame.footer, columns, style.unicode)));

  const room = Math.max(1, rows - top.length - bottom.length);
  const tree = compactTree(executionTree(status?.stageStatuses ?? [], now), room);
  return [...top, ...renderTree(tree, { style, width: columns }), ...bottom].slice(0, rows);
}

/** `● web-x7k2p  Running  12s  3/7 actions`. */
export function headline(execution: DRPlanExecution, now: number, style: Style): string {
  const { metadata, spec, status } = execution;
  const phase = status?.phase ?? 'Pending';
  return [
    `${style.sign(phase)} ${style.bold(oneLine(metadata.name))}`,
    style.phase(phase),
    elapsed(status ?? {}, now),
    progressText(status),
    style.dim(`${spec.operationType === 'Revert' ? 'revert of plan' : 'plan'} ${oneLine(spec.planRef)}`),
  ]
    .filter((part) => part !== '')
    .join('  ');
}
