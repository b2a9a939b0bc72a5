import { isObject } from '../../../../api/core/json.js';
import { KINDS } from '../../../../api/kinds.js';
import { usageError } from '../../core/cli-error.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { type CheckedObject, checkObjects } from '../manifests/check.js';
import { surroundingsIn } from '../manifests/cluster-surroundings.js';
import { pickObjects } from '../manifests/objects.js';
import { sourcesInFiles } from '../manifests/override-sources.js';
import { type ManifestObject, parseManifests } from '../manifests/parse.js';
import { byPlace, type Place } from '../manifests/place.js';
import { readSources, readStdin } from '../manifests/sources.js';
import { NO_SURROUNDINGS } from '../manifests/surroundings.js';
import { printValue } from '../../core/output.js';
import type { OutputFormat } from '../../core/output-format.js';
import type { Style } from '../../core/render/style.js';
import { cut, oneLine } from '../../core/render/text.js';

/** Options of `drover validate`. */
export interface ValidateOptions {
  file?: string[];
  strict?: boolean;
  cluster?: boolean;
  output?: OutputFormat;
}

/** Longer messages and paths can only come from hostile names. */
const MAX_LINE = 600;

/** Kinds that the summary counts even where there are none: it is what most files are written for. */
const COUNTED_AT_ZERO: ReadonlySet<string> = new Set(['DRWorkflow', 'DRPlan', 'DRPlanExecution']);

/** Checks files; ends with 1 where there are errors. */
export async function validate(
  context: CommandContext,
  paths: readonly string[],
  options: ValidateOptions,
): Promise<number> {
  const { terminal } = context;
  const named = [...paths, ...(options.file ?? [])];
  if (named.length === 0) {
    throw usageError('no file was named', 'drover validate plans/   files, folders, or - for standard input');
  }
  const { texts, faults } = await readSources(named, () => readStdin(process.stdin));
  const parsed = texts.map(parseManifests);
  const cluster = options.cluster === true ? await context.openCluster() : undefined;
  const namespace = context.options.namespace ?? cluster?.namespace ?? 'default';
  const manifests = parsed.flatMap((file) => file.objects);
  const { objects, others, faults: strangers } = pickObjects(manifests, namespace);
  const order = byPlace(texts.map(({ file }) => file));
  const allFaults = [...faults, ...parsed.flatMap((file) => file.faults), ...strangers].sort(order);
  const around =
    cluster === undefined
      ? NO_SURROUNDINGS
      : await surroundingsIn(cluster.kube, objects, accountsIn(manifests, namespace));
  const checked = checkObjects(objects, {
    ...around,
    overrides: sourcesInFiles(manifests, around.overrides),
  }).map((object) => ({ ...object, problems: object.problems.sort(order) }));

  const problems = checked.flatMap((object) => object.problems);
  const errors = allFaults.length + problems.filter(({ severity }) => severity === 'error').length;
  const warnings = problems.length - problems.filter(({ severity }) => severity === 'error').length;
  if (options.output === undefined) {
    const found = [
      ...allFaults.map(({ reason = 'Unreadable', message, ...at }): Found => ({
        ...at,
        severity: 'error',
        text: `${reason}: ${message}`,
      })),
      ...problems.map((problem): Found => ({
        ...problem,
        text: `${problem.reason} ${cut(problem.path, 300)}: ${problem.message}`,
      })),
    ];
    for (const one of found.sort(order)) terminal.out(lineOf(one, terminal.outStyle));
    if (others.size > 0) terminal.note(`left out: ${describeOthers(others)}`);
    terminal.note(summaryOf(checked, errors, warnings));
  } else {
    await printValue(
      terminal,
      { objects: checked, faults: allFaults, ignored: Object.fromEntries(others), errors, warnings },
      options.output,
    );
  }
  const nothing = checked.length === 0 && allFaults.length === 0;
  return errors > 0 || nothing || (options.strict === true && warnings > 0) ? EXIT.invalid : EXIT.ok;
}

/** Service accounts among what is checked, as `namespace/name`. */
const accountsIn = (manifests: readonly ManifestObject[], namespace: string): Set<string> =>
  new Set(
    manifests.flatMap(({ value: { kind, metadata } }) =>
      kind === 'ServiceAccount' && isObject(metadata)
        ? [
            `${typeof metadata.namespace === 'string' ? metadata.namespace : namespace}/${String(metadata.name)}`,
          ]
        : [],
    ),
  );

/** Something that is wrong or doubtful, with its place. */
interface Found extends Place {
  severity: 'error' | 'warning';
  text: string;
}

function lineOf({ file, line, column, severity, text }: Found, style: Style): string {
  const tone = severity === 'error' ? style.bad : style.warn;
  return `${style.bold(`${oneLine(file)}:${line}:${column}:`)} ${tone(severity)} ${cut(oneLine(text), MAX_LINE)}`;
}

/** How many of each, most first. */
function describeOthers(others: ReadonlyMap<string, number>): string {
  const MAX_SHOWN = 5;
  const sorted = [...others].sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, MAX_SHOWN).map(([kind, count]) => `${count} ${cut(oneLine(kind), 60)}`);
  if (sorted.length > MAX_SHOWN) shown.push(`${sorted.length - MAX_SHOWN} more kinds`);
  return shown.join(', ');
}

function summaryOf(checked: readonly CheckedObject[], errors: number, warnings: number): string {
  const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;
  const what = KINDS.map(({ kind, word, words }) => {
    const found = checked.filter((object) => object.kind === kind).length;
    return { kind, found, text: `${found} ${found === 1 ? word : words}` };
  })
    .filter(({ kind, found }) => found > 0 || COUNTED_AT_ZERO.has(kind))
    .map(({ text }) => text)
    .join(', ');
  if (checked.length === 0 && errors === 0)
    return 'there is no workflow, plan or execution in what was given';
  return `${what}: ${count(errors, 'error')}, ${count(warnings, 'warning')}`;
}
