import { type CheckResult, runChecks } from '../clusternet/checks.js';
import { chooseMembers, Scratch } from '../clusternet/installation.js';
import { confirmIntent } from '../../core/confirm.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { onInterrupt } from '../../core/interrupt.js';
import { printValue } from '../../core/output.js';
import type { OutputFormat } from '../../core/output-format.js';
import { table } from '../../core/render/table.js';

/** Options of `drover check clusternet`. */
export interface ClusternetOptions {
  clusters?: string[];
  keep?: boolean;
  timeout: number;
  yes?: boolean;
  output?: OutputFormat;
}

const QUIET_MS = 4000;

/** Tries out a Clusternet installation; ends with 1 where something did not hold. */
export async function checkClusternet(context: CommandContext, options: ClusternetOptions): Promise<number> {
  const { terminal } = context;
  const { kube, context: name } = await context.openCluster();
  const interrupt = onInterrupt();
  const scratch = new Scratch(kube, context.options.namespace);
  try {
    const [first, second] = await chooseMembers(kube, options.clusters, interrupt.signal);
    if (first === undefined) throw new Error('no cluster was chosen');
    await confirmIntent(
      terminal,
      {
        question: 'Deploy a ConfigMap to these clusters and remove it again?',
        facts: [
          ['parent', `context ${name} (${kube.server})`],
          ['clusters', [first, second].flatMap((one) => one?.binding ?? []).join(', ')],
          ['namespace', scratch.namespace],
          ['everything is named', `${scratch.name}…`],
        ],
      },
      options.yes === true,
    );
    const timeoutMs = options.timeout * 1000;
    const results = await runChecks(
      { scratch, first, second, times: { timeoutMs, quietMs: QUIET_MS }, signal: interrupt.signal },
      ({ check, result, detail }) => {
        if (result !== 'held') terminal.note(`${result}: ${check}: ${detail}`);
      },
    );
    await report(context, results, options.output);
    if (interrupt.interrupted()) return EXIT.interrupted;
    return results.some(({ result }) => result === 'failed') ? EXIT.invalid : EXIT.ok;
  } finally {
    interrupt.dispose();
    await cleanUp(context, scratch, options);
  }
}

async function cleanUp(
  { terminal }: CommandContext,
  scratch: Scratch,
  { keep, timeout }: ClusternetOptions,
): Promise<void> {
  if (scratch.made.length === 0) return;
  if (keep === true) {
    terminal.note('left there, as --keep asks:');
    for (const { kind, namespace, name } of scratch.made) {
      terminal.note(`  ${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`);
    }
    return;
  }
  const left = await scratch.remove(timeout * 1000);
  if (left.length > 0) terminal.note(`still there after ${timeout} s: ${left.join(', ')}; remove it by hand`);
}

async function report(
  { terminal }: CommandContext,
  results: readonly CheckResult[],
  output: OutputFormat | undefined,
): Promise<void> {
  if (output !== undefined) {
    await printValue(terminal, results, output);
    return;
  }
  const { outStyle } = terminal;
  const signs = { held: 'Succeeded', failed: 'Failed', skipped: 'Skipped' } as const;
  const rows = results.map(({ check, result, detail, ms }) => [
    `${outStyle.sign(signs[result])} ${outStyle.phase(signs[result], result)}`,
    `${(ms / 1000).toFixed(1)}s`,
    check,
    detail,
  ]);
  for (const line of table(['RESULT', 'TIME', 'CHECK', 'DETAIL'], rows)) terminal.out(line);
}
