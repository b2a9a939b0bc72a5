import { buildOpenTofu, describeEngine, withBuiltEngine } from '../../../../local/index.js';
import { fileDigest, findEngines } from '../../../../runtime/engines.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { printProgress } from '../../core/local-progress.js';
import type { OutputFormat } from '../../core/output-format.js';
import { printValue } from '../../core/output.js';

/** `drover engines list`. */
export async function listEngines(
  context: CommandContext,
  format: OutputFormat | undefined,
): Promise<number> {
  const { terminal, environment } = context;
  const { engines } = await findEngines(await withBuiltEngine(environment.env));
  if (format !== undefined) {
    const withDigests = await Promise.all(
      engines.map(async (engine) => ({ ...engine, digest: await fileDigest(engine.path) })),
    );
    await printValue(terminal, withDigests, format);
    return EXIT.ok;
  }
  for (const engine of engines) terminal.out(await describeEngine(engine));
  if (engines.length === 0) {
    terminal.note(
      'no terraform and no tofu here: install one, or build OpenTofu with "drover engines build"',
    );
  }
  return EXIT.ok;
}

/** `drover engines build`. */
export async function buildEngine({ terminal, environment }: CommandContext): Promise<number> {
  const path = await buildOpenTofu({ progress: printProgress(terminal), env: environment.env });
  terminal.out(path);
  return EXIT.ok;
}
