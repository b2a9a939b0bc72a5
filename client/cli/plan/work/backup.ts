import { createWriteStream, existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { KINDS } from '../../../../api/kinds.js';
import { clusterId } from '../../../../api/plan/naming.js';
import { readClusterUid } from '../../../../kube/cluster-id.js';
import { KubeError } from '../../../../kube/error.js';
import { ownNamespace } from '../../../../kube/own-namespace.js';
import { packageVersion } from '../../../../runtime/package-version.js';
import { createArchiveWriter } from '../backup/archive-writer.js';
import { collect, noteRuns, readDefinitions } from '../backup/collect.js';
import type { RunsSeen } from '../backup/collect.js';
import { ENTRIES } from '../backup/manifest.js';
import type { Manifest } from '../backup/manifest.js';
import { createProgress } from '../backup/progress.js';
import { describeRing, readRing, ringPlaceOf } from '../backup/ring.js';
import { CliError, usageError } from '../../core/cli-error.js';
import type { Cluster } from '../../core/cluster.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { temporalTarget } from '../../core/temporal.js';

/** Options of `drover backup`. */
export interface BackupOptions {
  withSecrets?: boolean;
  withoutSecrets?: boolean;
  systemNamespace?: string;
}

const STDOUT = '-';

/** Writes an archive; a file of that name is never replaced, and one that is cut short never left. */
export async function backup(context: CommandContext, file: string, options: BackupOptions): Promise<number> {
  const withSecrets = secretsOf(options);
  const cluster = await context.openCluster();
  const write = (to: Writable): Promise<Written> =>
    writeAll(context, cluster, to, { ...options, withSecrets });
  const written = file === STDOUT ? await write(process.stdout) : await intoFile(file, write);
  report(context, file, written);
  return EXIT.ok;
}

function secretsOf({ withSecrets = false, withoutSecrets = false }: BackupOptions): boolean {
  if (withSecrets || withoutSecrets) return withSecrets;
  throw usageError(
    'say whether Secrets belong into the archive',
    '--with-secrets: the state that reverts restore, and the keys of seals; keep the archive as you keep those',
    '--without-secrets: after a restore, live runs stand still (NotSealed) and some reverts fail (PriorStateMissing)',
  );
}

interface Written {
  manifest: Manifest;
  bytes: number;
  sha256: string;
}

/** The name appears only when everything is in it. */
async function intoFile(file: string, write: (to: Writable) => Promise<Written>): Promise<Written> {
  if (existsSync(file)) {
    throw new CliError(`${file} exists already; nothing was written over it`, {
      hints: ['give another name, or move it away'],
    });
  }
  const partial = `${file}.partial-${process.pid}`;
  try {
    const written = await write(createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true }));
    await rename(partial, file);
    return written;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

async function writeAll(
  context: CommandContext,
  cluster: Cluster,
  to: Writable,
  options: BackupOptions & { withSecrets: boolean },
): Promise<Written> {
  const { terminal, environment } = context;
  const { withSecrets } = options;
  const { kube, embedded } = cluster;
  const takenAt = new Date(context.now());
  const namespace = await ownNamespace(
    options.systemNamespace ?? (environment.env['DROVER_NAMESPACE'] || undefined),
  );
  const uid = await readClusterUid(kube);
  const definitions = await readDefinitions(kube, KINDS);
  if (definitions.length === 0) throw notInstalled(cluster);
  const kinds = KINDS.filter(({ plural, group }) =>
    definitions.some(({ name }) => name === `${plural}.${group}`),
  );
  const archive = createArchiveWriter(to, { time: takenAt, keepOpen: to === process.stdout });
  const progress = createProgress({ note: terminal.note });
  const seen: RunsSeen = { live: [], namespaceIds: new Set(), namespace: undefined };
  let objects = 0;
  try {
    if (withSecrets) await addRing(context, cluster, { archive, namespace });
    for await (const chunk of collect(kube, { kinds, namespace, withSecrets })) {
      noteRuns(seen, chunk);
      await archive.add(chunk.sort, chunk.objects);
      objects += chunk.objects.length;
      progress(() => `${objects} objects read, ${chunk.sort} at present`);
    }
  } catch (error) {
    if (to !== process.stdout) to.destroy();
    throw told(error);
  }
  const target = temporalTarget(context, cluster, seen.namespace);
  return archive.finish({
    drover: packageVersion(),
    takenAt: takenAt.toISOString(),
    cluster: { uid, id: clusterId(uid) },
    temporal: {
      address: target?.address ?? null,
      namespace: seen.namespace ?? target?.namespace ?? null,
      namespaceIds: [...seen.namespaceIds].sort(),
    },
    secrets: withSecrets ? 'included' : 'left out',
    installation: { namespace: embedded === undefined ? namespace : null },
    definitions,
    live: seen.live,
  });
}

async function addRing(
  { terminal }: CommandContext,
  cluster: Cluster,
  { archive, namespace }: { archive: ReturnType<typeof createArchiveWriter>; namespace: string },
): Promise<void> {
  const place = ringPlaceOf(cluster, namespace);
  const keys = await readRing(cluster.kube, place);
  if (keys !== undefined) return archive.add(ENTRIES.ring, [keys]);
  terminal.note(
    terminal.noteStyle.warn(
      `warning: there is no ${describeRing(place)}, so the archive has no keys of seals; is the installation in another namespace? --system-namespace NAME`,
    ),
  );
}

const notInstalled = ({ context, kube }: Cluster): CliError =>
  new CliError(
    `context ${context} (${kube.server}) has none of Drover's definitions: there is nothing to back up`,
    {
      hints: ['is it the right cluster?'],
    },
  );

function told(error: unknown): unknown {
  if (!(error instanceof KubeError)) return error;
  if (error.code === 403) {
    return new CliError(`not everything may be read: ${error.message}; no archive was written`, {
      hints: [
        'take the backup as somebody who may list the kinds of Drover, ControllerRevisions and Secrets in all namespaces',
      ],
      cause: error,
    });
  }
  if (error.code === 410) {
    return new CliError('the list took longer than the API server remembers; no archive was written', {
      hints: ['try again when the API server has less to do'],
      cause: error,
    });
  }
  return error;
}

function report({ terminal }: CommandContext, file: string, { manifest, bytes, sha256 }: Written): void {
  const { note, noteStyle: style } = terminal;
  const counts = new Map<string, number>();
  for (const { name, objects } of manifest.entries) {
    const sort = name.slice(0, name.indexOf('/'));
    counts.set(sort, (counts.get(sort) ?? 0) + objects);
  }
  const objects = [...counts].map(([sort, count]) => `${count} ${sort}`).join(', ');
  note(`${file === STDOUT ? 'standard output' : file}: ${bytes} bytes, SHA-256 ${sha256}`);
  note(
    `  from cluster ${manifest.cluster.id} at ${manifest.takenAt}: ${objects === '' ? 'no objects' : objects}`,
  );
  const { address, namespace } = manifest.temporal;
  const where =
    namespace === null
      ? 'a Temporal'
      : `Temporal namespace "${namespace}"${address === null ? '' : ` at ${address}`}`;
  note(
    `  not in it: the database of ${where}, which holds the runs themselves; back it up at the same time (docs/backup.md)`,
  );
  if (manifest.live.length > 0)
    note(
      style.warn(
        `  ${manifest.live.length} executions had not ended: their copies never go on after a restore`,
      ),
    );
  if (manifest.secrets === 'included') return;
  note(style.warn('  WARNING: WITHOUT SECRETS. After a restore from this archive alone:'));
  note(
    style.warn('    live runs stand still, NotSealed: the keys of seals are not in it (Secret drover-seal)'),
  );
  note(
    style.warn(
      '    reverts that put objects back fail, PriorStateMissing: what these were before is not in it',
    ),
  );
}
