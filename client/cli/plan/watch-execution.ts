import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import { CliError } from '../core/cli-error.js';
import type { CommandContext } from '../core/context.js';
import { EXIT, exitCodeOf } from '../core/exit-codes.js';
import { follow } from '../core/follow.js';
import { onInterrupt } from '../core/interrupt.js';
import { createLiveScreen } from '../core/live-screen.js';
import { type OutputFormat, printValue, withoutManagedFields } from '../core/output.js';
import { pauseHint } from './render/attention.js';
import { compactTree, executionTree } from './render/execution-tree.js';
import { liveLines } from './render/live.js';
import { outcomeLines } from './render/outcome.js';
import { transitionLine } from './render/transition-line.js';
import { renderTree } from '../core/render/tree.js';
import { transitionsBetween } from './transitions.js';

/** An execution that nothing has looked at for this long is worth a remark. */
const UNSEEN_AFTER_MS = 10_000;
const FRAME_MS = 200;
/** The picture that stays behind is cut down to this many lines. */
const FINAL_LINES = 100;

/**
 * Shows a run until it ends: a picture that is redrawn on a terminal, else a line for every transition. Ctrl-C leaves
 * the run alone and says how to look again.
 *
 * @param options.isEnding the run is being ended: nobody has to be told how to cancel it
 * @returns the exit code: 0, 1, 2 for Succeeded, Failed, Cancelled; 130 when interrupted
 */
export async function watchExecution(
  context: CommandContext,
  kube: KubeClient,
  key: { namespace: string; name: string; uid?: string },
  format: OutputFormat | undefined,
  { isEnding = false }: { isEnding?: boolean } = {},
): Promise<number> {
  const interrupt = onInterrupt();
  const view = createView(context, format);
  let last: DRPlanExecution | undefined;
  try {
    for await (const event of follow(kube, key, interrupt.signal)) {
      switch (event.kind) {
        case 'state':
          view.show(event.execution);
          last = event.execution;
          break;
        case 'unreachable':
          view.remark(`${event.message}; trying again`);
          break;
        case 'deleted':
          throw new CliError(
            `execution ${key.namespace}/${key.name} was deleted while it was being watched`,
            {
              hints: [
                `the plan's history keeps how it ended: ${context.say(`describe plan/${last?.spec.planRef ?? 'NAME'}`)}`,
              ],
            },
          );
      }
      if (isTerminalExecution(last?.status?.phase)) break;
    }
  } finally {
    view.close();
    interrupt.dispose();
  }
  if (interrupt.interrupted() || last === undefined) {
    const goesOn = isEnding ? 'it is ended all the same' : 'the run goes on';
    context.terminal.note(`detached; ${goesOn}. To look again: ${context.say(`watch ${key.name}`)}`);
    if (!isEnding) context.terminal.note(`to cancel it: ${context.say(`cancel ${key.name}`)}`);
    return EXIT.interrupted;
  }
  view.end(last);
  return exitCodeOf(last.status?.phase);
}

interface View {
  show(execution: DRPlanExecution): void;
  remark(text: string): void;
  close(): void;
  end(execution: DRPlanExecution): void;
}

function createView(context: CommandContext, format: OutputFormat | undefined): View {
  const { terminal, now, say } = context;
  const started = now();
  const unseen = (execution: DRPlanExecution | undefined): string | undefined =>
    execution !== undefined && execution.status?.phase === undefined && now() - started > UNSEEN_AFTER_MS
      ? `nothing has picked this execution up yet; is the bridge running? (${context.program} status)`
      : undefined;

  if (format !== undefined || terminal.screen === undefined) {
    const print = (text: string): void => (format === undefined ? terminal.out(text) : terminal.note(text));
    const style = format === undefined ? terminal.outStyle : terminal.noteStyle;
    let before: DRPlanExecution | undefined;
    const timer = setInterval(() => {
      const text = unseen(before);
      if (text === undefined) return;
      print(text);
      clearInterval(timer);
    }, 1000);
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
      end(execution) {
        for (const line of outcomeLines(execution, { style: terminal.noteStyle, say, now: now() }))
          terminal.note(line);
        if (format !== undefined) printValue(terminal, withoutManagedFields(execution), format);
      },
    };
  }

  const { screen, outStyle: style } = terminal;
  const live = createLiveScreen(screen);
  let current: DRPlanExecution | undefined;
  let notice: string | undefined;
  const draw = (): void => {
    if (current === undefined) return;
    const { columns, rows } = screen.size();
    const text = notice ?? unseen(current) ?? pauseHint(current, say);
    const footer = 'Ctrl-C stops watching; the run goes on';
    live.draw(
      liveLines({
        execution: current,
        now: now(),
        style,
        columns: columns - 1,
        rows: rows - 1,
        footer,
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
      const tree = compactTree(executionTree(execution.status?.stageStatuses ?? [], now()), FINAL_LINES);
      for (const line of renderTree(tree, { style, width: columns })) terminal.out(line);
      for (const line of outcomeLines(execution, { style, say, now: now() })) terminal.out(line);
    },
  };
}
