import type { DRPlanExecution } from '../../../api/plan/types.js';
import type { CommandContext } from '../core/context.js';
import { createLiveScreen } from '../core/live-screen.js';
import { printValue, withoutManagedFields } from '../core/output.js';
import type { OutputFormat } from '../core/output-format.js';
import { renderTree } from '../core/render/tree.js';
import type { Screen } from '../core/terminal.js';
import { pauseHint } from './render/attention.js';
import { compactTree, executionTree } from './render/execution-tree.js';
import { liveLines } from './render/live.js';
import { outcomeLines } from './render/outcome.js';
import { transitionLine } from './render/transition-line.js';
import { transitionsBetween } from './transitions.js';

/** How a run is shown while it is watched. */
export interface WatchView {
  /** Shows a new state. */
  show(execution: DRPlanExecution): void;
  /** Says something beside the run. */
  remark(text: string): void;
  /** Stops drawing; called before {@link WatchView.end}, and without it when the watch is broken off. */
  close(): void;
  /** Shows how the run ended. */
  end(execution: DRPlanExecution): Promise<void>;
}

/** An execution that nothing has picked up for this long is worth a remark. */
const UNSEEN_AFTER_MS = 10_000;
const FRAME_MS = 200;
const UNSEEN_CHECK_MS = 1000;
/** The picture that stays behind is cut down to this many lines. */
const MAX_FINAL_LINES = 100;

/** A picture that is redrawn on a terminal, else a line for every transition. */
export function createWatchView(context: CommandContext, format: OutputFormat | undefined): WatchView {
  const { screen } = context.terminal;
  return format !== undefined || screen === undefined
    ? createLineView(context, format)
    : createLiveView(context, screen);
}

/** Says that nothing picks an execution up, once that has lasted. */
function unseenRemarks({
  now,
  program,
}: CommandContext): (execution: DRPlanExecution | undefined) => string | undefined {
  const started = now();
  return (execution) =>
    execution !== undefined && execution.status?.phase === undefined && now() - started > UNSEEN_AFTER_MS
      ? `nothing has picked this execution up yet; is the bridge running? (${program} status)`
      : undefined;
}

function createLineView(context: CommandContext, format: OutputFormat | undefined): WatchView {
  const { terminal, now, say } = context;
  const unseen = unseenRemarks(context);
  // What a program reads is the object at the end alone.
  const print = (text: string): void => (format === undefined ? terminal.out(text) : terminal.note(text));
  const style = format === undefined ? terminal.outStyle : terminal.noteStyle;
  let before: DRPlanExecution | undefined;
  const timer = setInterval(() => {
    const text = unseen(before);
    if (text === undefined) return;
    print(text);
    clearInterval(timer);
  }, UNSEEN_CHECK_MS);
  return {
    show(execution) {
      for (const transition of transitionsBetween(before, execution, new Date(now()).toISOString())) {
        print(transitionLine(transition, style));
      }
      const hint = pauseHint(execution, say);
      if (hint !== undefined && (before === undefined || pauseHint(before, say) === undefined))
        terminal.note(hint);
      before = execution;
    },
    remark: (text) => terminal.note(text),
    close: () => clearInterval(timer),
    async end(execution) {
      for (const line of outcomeLines(execution, { style: terminal.noteStyle, say, now: now() }))
        terminal.note(line);
      if (format !== undefined) await printValue(terminal, withoutManagedFields(execution), format);
    },
  };
}

function createLiveView(context: CommandContext, screen: Screen): WatchView {
  const { terminal, now, say } = context;
  const { outStyle: style } = terminal;
  const unseen = unseenRemarks(context);
  const live = createLiveScreen(screen);
  let current: DRPlanExecution | undefined;
  let notice: string | undefined;
  const draw = (): void => {
    if (current === undefined) return;
    const { columns, rows } = screen.size();
    const text = notice ?? unseen(current) ?? pauseHint(current, say);
    live.draw(
      liveLines({
        execution: current,
        now: now(),
        style,
        columns: columns - 1,
        rows: rows - 1,
        footer: 'Ctrl-C stops watching; the run goes on',
        ...(text !== undefined && { notice: text }),
      }),
    );
  };
  const timer = setInterval(draw, FRAME_MS);
  return {
    show(execution) {
      current = execution;
      notice = undefined;
      draw();
    },
    remark(text) {
      notice = text;
      draw();
    },
    close() {
      clearInterval(timer);
      live.close();
    },
    end(execution) {
      const { columns } = screen.size();
      const tree = compactTree(executionTree(execution.status?.stageStatuses ?? [], now()), MAX_FINAL_LINES);
      for (const line of renderTree(tree, { style, width: columns })) terminal.out(line);
      for (const line of outcomeLines(execution, { style, say, now: now() })) terminal.out(line);
      return Promise.resolve();
    },
  };
}
