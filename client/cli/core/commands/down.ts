import type { Command } from 'commander';
import { down } from '../../../../local/index.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { printProgress } from '../local-progress.js';
import { type OutputFormat, printValue } from '../output.js';
import { addExamples, outputOption, type Perform } from './shared.js';

/** `drover down`. */
export function addDown(program: Command, perform: Perform): void {
  const command = program
    .command('down')
    .summary('stop what "up" started')
    .description(
      'Stops exactly the processes that "up" started for a data dir. The data stays, and the next "up" goes on with every run; only that of an --ephemeral one is gone.',
    )
    .addOption(outputOption())
    .action((options: { output?: OutputFormat }, self: Command) =>
      perform(self, (context) => takeDown(context, options.output)),
    );
  addExamples(command, [['down --data-dir /tmp/second', 'stop another one']]);
}

async function takeDown(context: CommandContext, format: OutputFormat | undefined): Promise<number> {
  const { terminal, dataDir } = context;
  const result = await down({ dataDir, progress: printProgress(terminal) });
  if (format !== undefined) printValue(terminal, result, format);
  else terminal.out(result.known ? `${dataDir} is down` : `nothing was ever brought up in ${dataDir}`);
  return EXIT.ok;
}
