import { down } from '../../../../local/index.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { printProgress } from '../local-progress.js';
import { printValue } from '../output.js';
import type { OutputFormat } from '../output-format.js';

/** Stops what `up` has started for the data dir. */
export async function takeDown(context: CommandContext, format: OutputFormat | undefined): Promise<number> {
  const { terminal, dataDir } = context;
  const result = await down({ dataDir, progress: printProgress(terminal) });
  if (format !== undefined) await printValue(terminal, result, format);
  else terminal.out(result.known ? `${dataDir} is down` : `nothing was ever brought up in ${dataDir}`);
  return EXIT.ok;
}
