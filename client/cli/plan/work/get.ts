import type { KindDescriptor } from '../../../../api/core/kind-descriptor.js';
import { usageError } from '../../core/cli-error.js';
import { anyKindOf, anyKinds, listAny, rowsOfAny } from '../../core/any-kind.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { asList, printValue, withoutManagedFields } from '../../core/output.js';
import type { OutputFormat } from '../../core/output-format.js';
import { rowsOf } from '../render/rows.js';
import { table } from '../../core/render/table.js';
import { cut, visibleWidth } from '../../core/render/text.js';
import { isNamespaced, kindOf, KINDS, listObjects, wordsOf } from '../../core/resources.js';
import type { Kind, ObjectOf } from '../../core/resources.js';

/** Options of `drover get`. */
export interface GetOptions {
  plan?: string;
  allNamespaces?: boolean;
  output?: OutputFormat;
}

/** Lists objects of one kind, or of those that are listed without a kind. */
export async function get(
  context: CommandContext,
  word: string | undefined,
  options: GetOptions,
): Promise<number> {
  const other = word === undefined ? undefined : await anyKindOf(word);
  if (other !== undefined) return getOther(context, other, options);
  const kinds = await kindsOf(word, options);
  const cluster = await context.openCluster();
  const namespace = options.allNamespaces === true ? undefined : cluster.namespace;
  const groups = await Promise.all(
    kinds.map(async (kind) => ({
      kind,
      objects: arrange(kind, await listObjects(cluster.kube, kind, namespace), options),
    })),
  );
  const { terminal } = context;
  if (options.output !== undefined) {
    const objects = groups.flatMap((group) => group.objects.map(withoutManagedFields));
    await printValue(terminal, asList(objects), options.output);
    return EXIT.ok;
  }
  const shown = groups.filter((group) => group.objects.length > 0);
  if (shown.length === 0) {
    noteNone(context, {
      words: kinds.map(wordsOf).join(', '),
      isPlaced: kinds.some(isNamespaced),
      namespace,
    });
    return EXIT.ok;
  }
  shown.forEach(({ kind, objects }, index) => {
    if (index > 0) terminal.out('');
    const { header, rows } = rowsOf(kind, objects, {
      style: terminal.outStyle,
      now: context.now(),
      withNamespace: namespace === undefined && isNamespaced(kind),
    });
    for (const line of table(...fitted(header, rows, terminal.width))) terminal.out(line);
  });
  return EXIT.ok;
}

/** @param none.isPlaced whether what is looked for is in namespaces */
function noteNone(
  { terminal }: CommandContext,
  none: { words: string; isPlaced: boolean; namespace: string | undefined },
): void {
  const where = none.namespace === undefined ? 'any namespace' : `namespace ${none.namespace}`;
  terminal.note(none.isPlaced ? `no ${none.words} in ${where}` : `no ${none.words}`);
}

/** A kind for which there are no words here: by its printer columns. */
async function getOther(context: CommandContext, kind: KindDescriptor, options: GetOptions): Promise<number> {
  const cluster = await context.openCluster();
  const namespace = options.allNamespaces === true ? undefined : cluster.namespace;
  const objects = await listAny(cluster.kube, kind, namespace);
  const { terminal } = context;
  if (options.output !== undefined) {
    await printValue(terminal, asList(objects.map(withoutManagedFields)), options.output);
  } else if (objects.length === 0) {
    noteNone(context, { words: kind.words, isPlaced: kind.scope === 'Namespaced', namespace });
  } else {
    const withNamespace = namespace === undefined && kind.scope === 'Namespaced';
    const { header, rows } = rowsOfAny(kind, objects, { now: context.now(), withNamespace });
    for (const line of table(header, rows)) terminal.out(line);
  }
  return EXIT.ok;
}

async function kindsOf(word: string | undefined, options: GetOptions): Promise<Kind[]> {
  if (word === undefined) {
    return options.plan === undefined ? ['DRPlan', 'DRPlanExecution', 'DRWorkflow'] : ['DRPlanExecution'];
  }
  const kind = kindOf(word);
  if (kind === undefined) {
    const others = await anyKinds();
    throw usageError(
      `"${word}" is none of ${[...KINDS.map(wordsOf), ...others.map(({ words }) => words)].join(', ')}`,
      'to look at one object: describe NAME',
    );
  }
  if (options.plan !== undefined && kind !== 'DRPlanExecution') {
    throw usageError('--plan goes with executions only', 'drop it, or say "get executions"');
  }
  return [kind];
}

function arrange(kind: Kind, objects: ObjectOf[Kind][], options: GetOptions): ObjectOf[Kind][] {
  if (kind !== 'DRPlanExecution') {
    return objects.sort((a, b) => placeOf(a).localeCompare(placeOf(b)));
  }
  return objects
    .filter(({ spec }) => options.plan === undefined || ('planRef' in spec && spec.planRef === options.plan))
    .sort((a, b) => created(b) - created(a));
}

const placeOf = ({ metadata }: ObjectOf[Kind]): string => `${metadata.namespace ?? ''}/${metadata.name}`;

const created = ({ metadata }: ObjectOf[Kind]): number => Date.parse(metadata.creationTimestamp ?? '') || 0;

/** Cuts the messages, which stand last, so that a row stays one line on a terminal. */
function fitted(header: string[], rows: string[][], width: number | undefined): [string[], string[][]] {
  const last = header.length - 1;
  if (rows.every((row) => row[last] === '')) {
    return [header.slice(0, last), rows.map((row) => row.slice(0, last))];
  }
  if (width === undefined) return [header, rows];
  const GAP = 2;
  const MIN_MESSAGE = 16;
  const before = header
    .slice(0, last)
    .reduce(
      (sum, title, column) =>
        sum + GAP + Math.max(title.length, ...rows.map((row) => visibleWidth(row[column]!))),
      0,
    );
  const room = Math.max(MIN_MESSAGE, width - before);
  return [header, rows.map((row) => [...row.slice(0, last), cut(row[last]!, room)])];
}
