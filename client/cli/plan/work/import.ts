import { PLURALS, type Kind } from '../../../../api/core/group.js';
import { parseDuration } from '../../../../api/core/duration.js';
import { checkName } from '../../../../api/plan/validate/names.js';
import { usageError } from '../../core/cli-error.js';
import type { Cluster } from '../../core/cluster.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { type ImportedObject, importObjects } from '../import/convert.js';
import type { Effect } from '../import/finding.js';
import { rewriteFiles, writeConverted } from '../import/write.js';
import { surroundingsIn } from '../manifests/cluster-surroundings.js';
import { isDrObject, pickObjects } from '../manifests/objects.js';
import { parseManifests } from '../manifests/parse.js';
import { readSources, readStdin, type SourceText } from '../manifests/sources.js';
import { NO_SURROUNDINGS, type Surroundings } from '../manifests/surroundings.js';
import { asList, printValue } from '../../core/output.js';
import type { OutputFormat } from '../../core/output-format.js';
import { cut, oneLine } from '../../core/render/text.js';
import type { Style } from '../../core/render/style.js';
import { listObjects, wordOf } from '../../core/resources.js';

/** Options of `drover import`. */
export interface ImportOptions {
  cluster?: boolean;
  allNamespaces?: boolean;
  to?: string;
  write?: boolean;
  serviceAccount?: string;
  jobTimeout?: string;
  dropStoredDefaults?: boolean;
  output?: OutputFormat;
}

/** Reads objects of the original controller and converts them; ends with 1 where one is refused. */
export async function importAll(
  context: CommandContext,
  paths: readonly string[],
  options: ImportOptions,
): Promise<number> {
  refuseNonsense(paths, options);
  const { terminal } = context;
  const cluster = options.cluster === true ? await context.openCluster() : undefined;
  const { texts, faults, namespace } =
    cluster !== undefined
      ? await readCluster(cluster, options.allNamespaces === true)
      : {
          ...(await readSources(paths, () => readStdin(process.stdin))),
          namespace: context.options.namespace ?? 'default',
        };
  const files = texts.map(parseManifests);
  const picked = pickObjects(
    files.flatMap((file) => file.objects),
    namespace,
  );
  // The original had no other kinds.
  const objects = picked.objects.filter(isDrObject);
  const unreadable = [...faults, ...files.flatMap((file) => file.faults)];
  const around: Surroundings =
    cluster === undefined ? NO_SURROUNDINGS : await surroundingsIn(cluster.kube, objects);
  const imported = importObjects(objects, options, around);
  const written = options.to === undefined ? [] : await writeConverted(options.to, imported);
  if (options.write === true) {
    // A part of a file that could not be read would be lost.
    const whole = files.filter((file) => file.faults.length === 0);
    written.push(...(await rewriteFiles(whole, imported)));
  }
  const findings = imported.flatMap((object) => object.findings);
  const of = (effect: Effect): number => findings.filter((finding) => finding.effect === effect).length;
  if (options.output === undefined) {
    const { outStyle: style } = terminal;
    for (const { file, line, column, message } of unreadable) {
      terminal.out(`${style.bad('unreadable')} ${oneLine(file)}:${line}:${column}: ${oneLine(message)}`);
    }
    for (const line of imported.flatMap((object) => describe(object, style))) terminal.out(line);
    for (const file of written) terminal.note(`wrote ${file}`);
    terminal.note(
      `${imported.length} objects: ${of('blocked')} refused, ${of('differs')} different, ${of('changed')} ${written.length > 0 ? 'converted' : 'to convert'}, ${of('note')} notes`,
    );
  } else {
    await printValue(
      terminal,
      {
        objects: imported.map(({ source, findings: found, converted }) => ({
          kind: source.kind,
          namespace: source.namespace,
          name: source.name,
          file: source.source.file,
          line: source.source.locate('').line,
          findings: found,
          ...(converted !== undefined && { converted }),
        })),
        faults: unreadable,
        written,
      },
      options.output,
    );
  }
  return of('blocked') > 0 || unreadable.length > 0 ? EXIT.invalid : EXIT.ok;
}

function refuseNonsense(paths: readonly string[], options: ImportOptions): void {
  if ((options.cluster === true) === paths.length > 0) {
    throw usageError(
      'say what to read: either files or --cluster',
      'import plans/',
      'import --cluster -n NAMESPACE',
    );
  }
  if (options.write === true && (options.cluster === true || paths.includes('-'))) {
    throw usageError('--write changes files, and there are none', 'write into a folder with --to DIR');
  }
  const { jobTimeout, serviceAccount } = options;
  if (jobTimeout !== undefined && parseDuration(jobTimeout) === undefined) {
    throw usageError(`--job-timeout ${jobTimeout} is no duration`, 'write it as 90s, 30m or 2h');
  }
  const [problem] = checkName(serviceAccount, '--service-account', 'subdomain');
  if (problem !== undefined) throw usageError(`${problem.path} ${problem.message}`);
}

/** The objects of a cluster as a file, so that they are read like any other. */
async function readCluster(
  { kube, namespace, context: name }: Cluster,
  everywhere: boolean,
): Promise<{ texts: SourceText[]; faults: []; namespace: string }> {
  const lists = await Promise.all(
    (Object.keys(PLURALS) as Kind[]).map((kind) =>
      listObjects(kube, kind, everywhere ? undefined : namespace),
    ),
  );
  const texts = lists.flat().map((object) => ({
    file: `${name}/${object.metadata.namespace}/${object.kind}/${object.metadata.name}`,
    text: JSON.stringify(asList([object])),
  }));
  return { texts, faults: [], namespace };
}

const WORDS: Record<Effect, string> = {
  blocked: 'refused  ',
  differs: 'different',
  changed: 'convert  ',
  note: 'note     ',
};

function describe({ source, findings }: ImportedObject, style: Style): string[] {
  if (findings.length === 0) return [];
  const tones: Record<Effect, (text: string) => string> = {
    blocked: style.bad,
    differs: style.warn,
    changed: style.good,
    note: style.dim,
  };
  const where = `${oneLine(source.source.file)}:${source.source.locate('').line}`;
  const title = `${wordOf(source.kind)} ${cut(oneLine(`${source.namespace}/${source.name}`), 200)}`;
  return [
    `${style.bold(title)} ${style.dim(where)}`,
    ...findings.map(
      ({ effect, code, path, message }) =>
        `  ${tones[effect](WORDS[effect])} ${code} ${cut(oneLine(`${path}: ${message}`), 800)}`,
    ),
  ];
}
