import { join } from 'node:path';
import { status, type StatusResult } from '../../../../local/index.js';
import { packageRoot } from '../../../../runtime/package-root.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { printValue } from '../output.js';
import type { OutputFormat } from '../output-format.js';
import { type Field, fieldLines } from '../render/fields.js';
import type { Style } from '../render/style.js';
import { table } from '../render/table.js';
import { oneLine } from '../render/text.js';
import { age } from '../render/time.js';

/** The definitions that `up` installs. */
export const CRD_DIR = join(packageRoot(), 'deploy', 'crds');

/** Shows what of `up` runs and answers; ends with 3 unless all is up. */
export async function show(context: CommandContext, format: OutputFormat | undefined): Promise<number> {
  const { terminal } = context;
  const result = await status({ dataDir: context.dataDir, crdDir: CRD_DIR });
  if (format !== undefined) await printValue(terminal, result, format);
  else {
    for (const line of statusLines(result, terminal.outStyle, context.now())) terminal.out(line);
    if (result.summary !== 'up') terminal.note(`next: ${context.say('up')}`);
    if (result.installed.some(({ problem }) => problem !== undefined)) {
      terminal.note(`or, after an uninstall, to stop what still runs: ${context.say('down')}`);
    }
  }
  return result.summary === 'up' ? EXIT.ok : EXIT.error;
}

/** What runs, what answers, and where it is. */
export function statusLines(result: StatusResult, style: Style, now: number): string[] {
  const { summary, mode, endpoints, processes, services, installed } = result;
  const tone = { up: style.good, degraded: style.bad, down: style.dim }[summary];
  const lines = fieldLines(
    [
      ['Data dir', result.dataDir],
      ['State', tone(summary)],
      ['Mode', mode === undefined ? undefined : modeText(mode)],
      ['kubeconfig', endpoints === undefined ? undefined : result.kubeconfig],
      ['Web UI', endpoints?.temporalUi ?? undefined],
      ...installed.map(({ name, problem }): Field => [
        { kinds: 'Kinds', webhooks: 'Webhooks' }[name],
        problem === undefined ? style.good('installed') : style.bad(oneLine(problem)),
      ]),
    ],
    style,
  );
  if (processes.length > 0) {
    const rows = processes.map(({ name, state, pid, startedAt, log }) => [
      name,
      state === 'running' ? style.good(state) : style.bad(state),
      String(pid),
      age(startedAt, now),
      log,
    ]);
    lines.push('', ...table(['PROCESS', 'STATE', 'PID', 'AGE', 'LOG'], rows));
  }
  if (services.length > 0) {
    const rows = services.map(({ name, address, problem }) => [
      name,
      problem === undefined ? style.good('answers') : style.bad('silent'),
      address,
      oneLine(problem ?? ''),
    ]);
    lines.push('', ...table(['SERVICE', 'STATE', 'ADDRESS', ''], rows));
  }
  return lines;
}

const modeText = ({ cluster, temporal, ephemeral }: NonNullable<StatusResult['mode']>): string =>
  `cluster ${cluster}, Temporal ${temporal}${ephemeral ? ', ephemeral' : ''}`;
