import { stringify } from 'yaml';
import type { DRPlan, DRWorkflow } from '../../../../api/plan/types.js';
import type { ActionPreflight, Finding } from '../../../../activities/preflight/preflight.js';
import { CliError } from '../../core/cli-error.js';
import { type CommandContext, temporalAddress } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { pickObjects } from '../manifests/objects.js';
import { parseManifests } from '../manifests/parse.js';
import { readSources, readStdin } from '../manifests/sources.js';
import { printValue } from '../../core/output.js';
import type { OutputFormat } from '../../core/output-format.js';
import { parseParams } from '../params.js';
import { preflightPlan, type PreflightReport } from '../preflight.js';
import type { Style } from '../../core/render/style.js';
import { oneLine } from '../../core/render/text.js';
import { getObject } from '../../core/resources.js';
import { nameOf } from '../../core/name-argument.js';

/** Options of `drover preflight`. */
export interface PreflightOptions {
  param?: string[];
  file?: string[];
  runMode?: 'Planned' | 'Emergency' | 'Drill';
  serviceAccount?: string;
  render?: boolean;
  strict?: boolean;
  output?: OutputFormat;
}

/** Tries a plan by server-side dry run; ends with 1 where there are problems. */
export async function check(
  context: CommandContext,
  text: string,
  options: PreflightOptions,
): Promise<number> {
  const name = nameOf(text, ['DRPlan']).name;
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
    await printValue(
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
