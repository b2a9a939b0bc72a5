import { type Command, InvalidArgumentError } from 'commander';
import { type CheckResult, runChecks } from '../clusternet/checks.js';
import { chooseMembers, Scratch } from '../clusternet/installation.js';
import { confirmIntent } from '../../core/confirm.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { onInterrupt } from '../../core/interrupt.js';
import { type OutputFormat, printValue } from '../../core/output.js';
import { table } from '../../core/render/table.js';
import { addExamples, outputOption, type Perform, yesOption } from '../../core/commands/shared.js';

interface ClusternetOptions {
  clusters?: string[];
  keep?: boolean;
  timeout: number;
  yes?: boolean;
  output?: OutputFormat;
}

const QUIET_MS = 4000;
const DEFAULT_TIMEOUT_S = 60;

/** `drover check clusternet`. */
export function addCheck(program: Command, perform: Perform): void {
  const group = program
    .command('check')
    .summary('try out what plans rely on')
    .description('Tries out, on a cluster, what plans rely on.');
  const command = group
    .command('clusternet')
    .summary('whether a Clusternet installation does what Drover takes for granted')
    .description(
      'Deploys one ConfigMap to one or two member clusters, localizes it, moves it, and removes it again; tells of each thing whether it held. Makes a namespace, a Manifest, a Subscription and Localizations, all named drover-check-…, and the ConfigMap in namespace "default" of the member clusters; removes all of them at the end. Ends with 1 when something did not hold.',
    )
    .option(
      '--clusters <names>',
      'ManagedClusters to try with (default: the first two that are Ready)',
      namesOf,
    )
    .option('--timeout <seconds>', 'longest wait for one thing', secondsOf, DEFAULT_TIMEOUT_S)
    .option('--keep', 'leave what was made, to look at it')
    .addOption(yesOption())
    .addOption(outputOption())
    .action((options: ClusternetOptions, self: Command) =>
      perform(self, (context) => checkClusternet(context, options)),
    );
  addExamples(command, [
    ['check clusternet --context parent', 'with the first two clusters that are Ready'],
    ['check clusternet --clusters site-a,site-b --yes -o json', 'for a program'],
  ]);
  addExamples(group, [['check clusternet', 'what Drover relies on where Clusternet deploys']]);
  command.copyInheritedSettings(group);
}

function namesOf(text: string): string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 1 || (names.length === 2 && names[0] !== names[1])) return names;
  throw new InvalidArgumentError('expected one or two different names, such as site-a,site-b.');
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600) return seconds;
  throw new InvalidArgumentError('expected whole seconds, 1 to 3600.');
}

async function checkClusternet(context: CommandContext, options: ClusternetOptions): Promise<number> {
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
    report(context, results, options.output);
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

function report(
  { terminal }: CommandContext,
  results: readonly CheckResult[],
  output: OutputFormat | undefined,
): void {
  if (output !== undefined) {
    printValue(terminal, results, output);
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
