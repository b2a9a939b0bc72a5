import { KINDS } from '../../../../api/kinds.js';
import { CLAIM_CONFIG_MAP } from '../../../../kube/claim-words.js';
import type { KubeClient } from '../../../../kube/client.js';
import { isAlreadyExists } from '../../../../kube/error.js';
import type { KubeObject } from '../../../../kube/object.js';
import { ownNamespace } from '../../../../kube/own-namespace.js';
import { BrokenArchive, openArchive } from '../backup/archive.js';
import type { Archive } from '../backup/archive.js';
import { ENTRIES } from '../backup/manifest.js';
import { createProgress } from '../backup/progress.js';
import { recreatable } from '../backup/restorable.js';
import { restoreObjects } from '../backup/restore-objects.js';
import type { Restored } from '../backup/restore-objects.js';
import { addToRing, describeRing, readRing, ringPlaceOf } from '../backup/ring.js';
import type { RingKeys } from '../backup/ring.js';
import { compare } from '../backup/target.js';
import type { Comparison } from '../backup/target.js';
import { CliError } from '../../core/cli-error.js';
import type { Cluster } from '../../core/cluster.js';
import { confirmIntent } from '../../core/confirm.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { endOtherRuns, findOtherRuns } from '../../core/other-runs.js';
import { table } from '../../core/render/table.js';
import { openTemporalOf, temporalTarget } from '../../core/temporal.js';

/** Options of `drover restore`. */
export interface RestoreOptions {
  dryRun?: boolean;
  merge?: boolean;
  createNamespaces?: boolean;
  systemNamespace?: string;
  yes?: boolean;
}

/** What a restore goes on with once nothing speaks against it. */
interface Restore {
  context: CommandContext;
  cluster: Cluster;
  archive: Archive;
  found: Comparison;
  /** Namespaces that have to be made first: those of objects, and the installation's for the keys of seals. */
  missing: readonly string[];
  /** Of the installation. */
  namespace: string;
  progress: ReturnType<typeof createProgress>;
}

/** Restores an archive; nothing is written before all of it was checked. */
export async function restore(
  context: CommandContext,
  file: string,
  options: RestoreOptions,
): Promise<number> {
  const { terminal, environment } = context;
  const progress = createProgress({ note: terminal.note });
  const archive = await open(file, (bytes) => {
    progress(() => `${file}: ${Math.round(bytes / 1024 / 1024)} MiB checked`);
  });
  try {
    const cluster = await context.openCluster();
    const found = await compare(cluster.kube, archive, {
      kinds: restorableKinds(),
      onProgress: progress,
    });
    const namespace = await ownNamespace(
      options.systemNamespace ??
        (environment.env['DROVER_NAMESPACE'] || undefined) ??
        archive.manifest.installation.namespace ??
        undefined,
    );
    const missing = await missingNamespaces({ cluster, archive, found, namespace });
    const all: Restore = { context, cluster, archive, found, missing, namespace, progress };
    refuseMissingKinds(found);
    for (const line of comparisonLines(archive, found)) terminal.out(line);
    refuseWhatIsThere(all, options);
    refuseMissingNamespaces(all, options);
    for (const warning of await warningsOf(all))
      terminal.note(terminal.noteStyle.warn(`warning: ${warning}`));
    if (options.dryRun === true) {
      terminal.note('nothing was restored: --dry-run');
      return EXIT.ok;
    }
    await confirm(all, file, options);
    await carryOut(all, options);
    await tellRuns(all);
    return EXIT.ok;
  } finally {
    await archive.close();
  }
}

async function open(file: string, onProgress: (bytes: number) => void): Promise<Archive> {
  try {
    return await openArchive(file, onProgress);
  } catch (error) {
    if (error instanceof BrokenArchive) {
      throw new CliError(`${file} is not a usable backup: ${error.message}; nothing was restored`, {
        hints: ['take another copy of it, or an older backup'],
        cause: error,
      });
    }
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new CliError(`${file} cannot be read (${code}); nothing was restored`, { cause: error });
  }
}

/** Those without a namespace first: policies decide whether plans are admitted. */
const restorableKinds = () => [
  ...KINDS.filter(({ scope }) => scope === 'Cluster'),
  ...KINDS.filter(({ scope }) => scope === 'Namespaced'),
];

function refuseMissingKinds({ missingKinds }: Comparison): void {
  if (missingKinds.length === 0) return;
  throw new CliError(
    `this cluster does not serve what is in the archive: ${missingKinds.join(', ')}; nothing was restored`,
    {
      hints: [
        'install the definitions first: kubectl apply --server-side -f deploy/crds, or the chart (docs/install.md)',
        'start bridge and worker after the restore: they then find their keys and plans',
      ],
    },
  );
}

function comparisonLines(archive: Archive, { rows }: Comparison): string[] {
  const counted = rows.map(({ kind, inArchive, inCluster, both }) => [
    kind.words,
    String(inArchive),
    String(inCluster),
    String(inArchive - both),
  ]);
  const more = (
    [
      ['snapshots', ENTRIES.snapshots],
      ['prior state', ENTRIES.priorState],
    ] as const
  ).map(([word, sort]) => [word, String(archive.count(sort)), '', String(archive.count(sort))]);
  return table(['WHAT', 'IN ARCHIVE', 'IN CLUSTER', 'TO RESTORE'], [...counted, ...more]);
}

async function missingNamespaces({
  cluster,
  archive,
  found,
  namespace,
}: Pick<Restore, 'cluster' | 'archive' | 'found' | 'namespace'>): Promise<string[]> {
  const place = ringPlaceOf(cluster, namespace);
  if (archive.count(ENTRIES.ring) === 0 || place.kind === 'file') return found.missingNamespaces;
  const key = { apiVersion: 'v1', kind: 'Namespace', name: place.namespace };
  if ((await cluster.kube.get(key)) !== undefined) return found.missingNamespaces;
  return [...new Set([...found.missingNamespaces, place.namespace])];
}

/** Objects of a live system and of a backup must not get mixed up by accident. */
function refuseWhatIsThere({ found: { rows }, cluster }: Restore, { merge = false }: RestoreOptions): void {
  const there = rows.filter(({ inCluster }) => inCluster > 0);
  if (merge || there.length === 0) return;
  const what = there
    .map(({ kind, inCluster }) => `${inCluster} ${inCluster === 1 ? kind.word : kind.words}`)
    .join(', ');
  throw new CliError(
    `context ${cluster.context} (${cluster.kube.server}) has ${what} already; nothing was restored`,
    {
      hints: [
        'restore into a control plane without any',
        'to add only what is missing, and change nothing that is there: --merge',
      ],
    },
  );
}

function refuseMissingNamespaces({ missing }: Restore, { createNamespaces = false }: RestoreOptions): void {
  if (createNamespaces || missing.length === 0) return;
  throw new CliError(
    `the cluster lacks ${missing.length === 1 ? 'namespace' : 'namespaces'} ${missing.join(', ')}; nothing was restored`,
    {
      hints: [
        'apply them as you have made them before, with the accounts and rights of plans',
        'or have them made without any: --create-namespaces',
      ],
    },
  );
}

/** What somebody should know before: what the archive lacks, and what will not go on. */
async function warningsOf({ archive, found, cluster, namespace }: Restore): Promise<string[]> {
  const { manifest } = archive;
  const warnings: string[] = [];
  const ring = ringPlaceOf(cluster, namespace);
  if (manifest.secrets === 'left out') {
    warnings.push(
      `the archive has no Secrets: reverts that put objects back fail, PriorStateMissing, unless Secrets of type prior-state come from another backup`,
    );
  }
  if (archive.count(ENTRIES.ring) === 0 && (await readRing(cluster.kube, ring)) === undefined) {
    warnings.push(
      `the archive has no keys of seals, and there is no ${describeRing(ring)}: runs that are live in Temporal stand still, NotSealed; put the Secret back before the first bridge starts`,
    );
  }
  if (manifest.live.length > 0) {
    const named = manifest.live.slice(0, MAX_NAMED).map(({ execution }) => execution);
    const more = manifest.live.length > MAX_NAMED ? ', …' : '';
    warnings.push(
      `${manifest.live.length} executions had not ended at the backup: their copies end as Failed, RestoredCopy, and never go on: ${named.join(', ')}${more}`,
    );
  }
  if (found.cluster.uid === manifest.cluster.uid) {
    warnings.push(
      `this is the cluster that the backup was taken of: the bridge cancels runs in Temporal whose execution is gone, and a copy does not keep them`,
    );
  }
  return warnings;
}

const MAX_NAMED = 5;

function confirm(
  { context, cluster, archive, found, missing }: Restore,
  file: string,
  options: RestoreOptions,
): Promise<void> {
  const { manifest, sha256 } = archive;
  return confirmIntent(
    context.terminal,
    {
      question: 'Restore this?',
      facts: [
        ['context', `${cluster.context} (${cluster.kube.server})`],
        ['archive', `${file}, SHA-256 ${sha256}`],
        ['taken', `${manifest.takenAt} by drover ${manifest.drover}`],
        ['from', `cluster ${manifest.cluster.id}`],
        ['into', `cluster ${found.cluster.id}`],
        ...(missing.length > 0 ? [['new namespaces', missing.join(', ')] as const] : []),
      ],
    },
    options.yes === true,
  );
}

async function carryOut(all: Restore, options: RestoreOptions): Promise<void> {
  const { context, cluster, archive, missing, progress, namespace } = all;
  const { terminal } = context;
  const { kube } = cluster;
  if (options.createNamespaces === true) for (const name of missing) await makeNamespace(kube, name);
  // First: a bridge that starts meanwhile uses these keys, and makes none of its own.
  const ring = await restoreRing(all);
  if (ring !== undefined) terminal.note(ring);
  const kinds = restorableKinds();
  const done = await restoreObjects({
    kube,
    archive,
    kinds,
    now: () => new Date(context.now()),
    onProgress: progress,
  });
  for (const line of done.map(describeRestored)) terminal.note(line);
  const claim = await restoreClaim(all, namespace);
  if (claim !== undefined) terminal.note(claim);
}

async function makeNamespace(kube: KubeClient, name: string): Promise<void> {
  try {
    await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** @returns what was done, for a person */
async function restoreRing({ cluster, archive, namespace }: Restore): Promise<string | undefined> {
  if (archive.count(ENTRIES.ring) === 0) return undefined;
  const { kube } = cluster;
  const place = ringPlaceOf(cluster, namespace);
  const added: string[] = [];
  for await (const keys of archive.objects<RingKeys>(ENTRIES.ring))
    added.push(...(await addToRing(kube, place, keys)));
  return `keys of seals: ${added.length === 0 ? 'all there already' : `${added.join(', ')} added to ${describeRing(place)}`}`;
}

/** The claim to a cluster's id is worth something for that cluster alone. */
async function restoreClaim(
  { cluster, archive, found }: Restore,
  namespace: string,
): Promise<string | undefined> {
  if (found.cluster.uid !== archive.manifest.cluster.uid) return undefined;
  for await (const claim of archive.objects<KubeObject>(ENTRIES.claim)) {
    try {
      await cluster.kube.create(recreatable({ ...claim, metadata: { ...claim.metadata, namespace } }));
      return `claim of the cluster's id: ConfigMap ${namespace}/${CLAIM_CONFIG_MAP} is back`;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  return undefined;
}

function describeRestored({ sort, made, kept, left }: Restored): string {
  const parts = [
    `${made} restored`,
    ...(kept > 0 ? [`${kept} there already`] : []),
    ...(left > 0 ? [`${left} left out: what they belong to is not in the archive`] : []),
  ];
  return `${sort}: ${parts.join(', ')}`;
}

/** What goes on elsewhere, or stands still, and is nobody's here. */
async function tellRuns({ context, cluster, archive, found }: Restore): Promise<void> {
  const { terminal } = context;
  const { live, temporal } = archive.manifest;
  for (const { execution, phase, workflowId } of live)
    terminal.out(
      `was ${phase} at the backup: ${execution}${workflowId === null ? '' : `, run ${workflowId}`}`,
    );
  const target = temporalTarget(context, cluster, temporal.namespace ?? undefined);
  if (target === undefined) {
    terminal.note(
      'Temporal was not asked which runs of other clusters are open: pass --temporal HOST:PORT, or look by "drover doctor"',
    );
    return;
  }
  try {
    const access = await openTemporalOf(context, cluster, {
      recordedNamespace: temporal.namespace ?? undefined,
      whose: 'the archive',
    });
    try {
      for (const { cluster: id, workflowIds } of await findOtherRuns(access.runs, found.cluster.uid)) {
        terminal.out(`open in Temporal, of cluster ${id}: ${workflowIds.join(', ')}`);
        terminal.note('  nobody here sweeps them or carries them on; when that cluster is gone for good:');
        terminal.note(`  ${endOtherRuns(id, target.namespace)}`);
      }
    } finally {
      await access.close();
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    terminal.note(`runs of other clusters are not known: ${why}`);
  }
}
