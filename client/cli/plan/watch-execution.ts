import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import { CliError } from '../core/cli-error.js';
import type { CommandContext } from '../core/context.js';
import { EXIT, exitCodeOf } from '../core/exit-codes.js';
import { follow } from '../core/follow.js';
import { onInterrupt } from '../core/interrupt.js';
import type { OutputFormat } from '../core/output-format.js';
import { createWatchView } from './watch-view.js';

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
  const view = createWatchView(context, format);
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
  await view.end(last);
  return exitCodeOf(last.status?.phase);
}
