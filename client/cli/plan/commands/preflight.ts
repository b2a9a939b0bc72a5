import { type Command, Option } from 'commander';
import { stringify } from 'yaml';
import type { DRPlan, DRWorkflow } from '../../../../api/plan/types.js';
import type { ActionPreflight, Finding } from '../../../../activities/preflight/preflight.js';
import { CliError } from '../../core/cli-error.js';
import { type CommandContext, temporalAddress } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { pickObjects } from '../manifests/objects.js';
import { parseManifests } from '../manifests/parse.js';
import { readSources, readStdin } from '../manifests/sources.js';
import { type OutputFormat, printValue } from '../../core/output.js';
import { parseParams } from '../params.js';
import { preflightPlan, type PreflightReport } from '../preflight.js';
import type { Style } from '../../core/render/style.js';
import { oneLine } from '../../core/render/text.js';
import { getObject } from '../../core/resources.js';
import { addExamples, collect, nameOf, outputOption, type Perform } from '../../core/commands/shared.js';

interface PreflightOptions {
  param?: string[];
  file?: string[];
  runMode?: 'Planned' | 'Emergency' | 'Drill';
  serviceAccount?: string;
  render?: boolean;
  strict?: boolean;
  output?: OutputFormat;
}

/** `drover preflight PLAN`. */
export function addPreflight(program: Command, perform: Perform): void {
  const command = program
    .command('preflight')
    .summary('try a plan by server-side dry run')
    .description(
      'Renders every action of a plan and has the API server try it, as the service account that will act, without storing, sending or starting anything: what would be forbidden, invalid, in conflict with other managers, or of a kind that is not there. Ends with 1 when there are problems.',
    )
    .argument('<plan>', 'name of the plan')
    .option('-p, --param <name=value>', 'parameter; may be given several times', collect)
    .option(
      '-f, --file <path>',
      'take the plan or workflows from a file or folder, when they are there',
      collect,
    )
    .addOption(
      new Option('--run-mode <mode>', 'what kind of run this is').choices(['Planned', 'Emergency', 'Drill']),
    )
    .option('--service-account <name>', 'account to act as, for a plan that names none')
    .option('--render', 'also show what would be written, secrets redacted')
    .option('--strict', 'end with 1 on warnings and on what could not be tried, too')
    .addOption(outputOption())
    .action((plan: string, options: PreflightOptions, self: Command) =>
      perform(self, (context) => check(context, nameOf(plan, ['DRPlan']).name, options)),
    );
  addExamples(command, [
    ['preflight shop-switchover -p to=site-b', 'would this failover go through as things are now?'],
    ['preflight shop-switchover -f plans/ --render', 'a plan that is not in the cluster yet'],
    ['preflight shop-switchover -o json', 'for a program'],
  ]);
}

async function check(context: CommandContext, name: string, options: PreflightOptions): Promise<number> {
  const { terminal } = context;
  const params = parseParams(options.param ?? []);
  const cluster = await context.openCluster();
  const own = await ownFiles(options.file ?? [], cluster.namespace);
  const plan =
    own.plans.find(({ metadata }) => metadata.name === name && metadata.namespace === cluster.namespace) ??
    (await getObject(cluster.kube, 'DRPlan', cluster.namespace, name, context.say));
  const report = await preflightPlan(cluster, {
    plan,
    workflows: own.workflows,
    params,
    temporal: temporalAddress(context),
    ...(options.runMode !== undefined && { runMode: options.runMode }),
    ...(options.serviceAccount !== undefined && { serviceAccount: options.serviceAccount }),
  });
  if (options.output === undefined) {
    for (const line of linesOf(report, terminal.outStyle)) terminal.out(line);
    if (options.render === true) for (const text of renderedOf(report)) terminal.out(text);
    terminal.note(summaryOf(report));
  } else {
    printValue(
      terminal,
      options.render === true ? report : { ...report, actions: report.actions.map(withoutWrites) },
      options.output,
    );
  }
  const doubtful = options.strict === true && report.warnings + report.untried > 0;
  return report.problems > 0 || doubtful ? EXIT.invalid : EXIT.ok;
}

async function ownFiles(
  paths: readonly string[],
  namespace: string,
): Promise<{ plans: DRPlan[]; workflows: DRWorkflow[] }> {
  if (paths.length === 0) return { plans: [], workflows: [] };
  const { texts, faults } = await readSources(paths, () => readStdin(process.stdin));
  const parsed = texts.map(parseManifests);
  const [fault] = [...faults, ...parsed.flatMap((file) => file.faults)];
  if (fault !== undefined) {
    throw new CliError(`${fault.file}:${fault.line}:${fault.column}: ${fault.message}`, {
      exitCode: EXIT.invalid,
    });
  }
  const { objects } = pickObjects(
    parsed.flatMap((file) => file.objects),
    namespace,
  );
  const of = <T>(kind: string): T[] =>
    objects.filter((entry) => entry.kind === kind).map(({ object }) => object as T);
  return { plans: of<DRPlan>('DRPlan'), workflows: of<DRWorkflow>('DRWorkflow') };
}

const withoutWrites = ({ writes: _, ...action }: ActionPreflight): Omit<ActionPreflight, 'writes'> => action;

const WORDS: Record<Finding['level'], string> = {
  ok: 'ok',
  warning: 'warning',
  problem: 'problem',
  untried: 'not tried',
};

/** A line for each finding. */
export function linesOf({ actions }: PreflightReport, style: Style): string[] {
  const tones = { ok: style.good, warning: style.warn, problem: style.bad, untried: style.dim };
  return actions.flatMap(({ stage, workflow, action, type, findings }) =>
    findings.map(({ level, reason, message }) => {
      const where = style.bold(`${oneLine(stage)}/${oneLine(workflow)}/${oneLine(action)}`);
      const why = level === 'problem' || level === 'warning' ? `${reason}: ` : '';
      return `${where} ${style.dim(type)} ${tones[level](WORDS[level])}: ${why}${oneLine(message)}`;
    }),
  );
}

function renderedOf({ actions }: PreflightReport): string[] {
  return actions.flatMap(({ stage, workflow, action, writes }) =>
    writes.map(
      ({ operation, object }) =>
        `---\n# ${oneLine(stage)}/${oneLine(workflow)}/${oneLine(action)}: ${operation}\n${stringify(object, { lineWidth: 0 }).trimEnd()}`,
    ),
  );
}

/** The whole in one line. */
export function summaryOf({ identity, actions, problems, warnings, untried }: PreflightReport): string {
  const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;
  return `${count(actions.length, 'action')} as ${identity}: ${count(problems, 'problem')}, ${count(warnings, 'warning')}, ${untried} not tried; nothing was changed`;
}
