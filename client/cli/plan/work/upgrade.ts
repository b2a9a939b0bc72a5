import { readFile } from 'node:fs/promises';
import { definitionGaps } from '../../../../api/core/definition-gap.js';
import type { DefinitionGap } from '../../../../api/core/definition-gap.js';
import { API_VERSION } from '../../../../api/core/group.js';
import { KINDS } from '../../../../api/kinds.js';
import { clusterId } from '../../../../api/plan/naming.js';
import type { KubeClient } from '../../../../kube/client.js';
import { readClusterUid } from '../../../../kube/cluster-id.js';
import { createOpenApi } from '../../../../kube/openapi.js';
import { compareVersions, parseVersion } from '../../../../local/program-version.js';
import { buildName } from '../../../../runtime/build-name.js';
import { bundlePath } from '../../../../runtime/bundle-path.js';
import { packageVersion } from '../../../../runtime/package-version.js';
import { usageError } from '../../core/cli-error.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { printValue } from '../../core/output.js';
import type { OutputFormat } from '../../core/output-format.js';
import { listObjects } from '../../core/resources.js';
import { openTemporalOf } from '../../core/temporal.js';
import { judge } from '../upgrade/judge.js';
import type { Situation } from '../upgrade/judge.js';
import { upgradeLines } from '../upgrade/lines.js';
import { findLiveRuns } from '../upgrade/live-runs.js';
import { programsOfCluster, programsOfTemporal } from '../upgrade/programs.js';

/** Options of `drover upgrade`. */
export interface UpgradeOptions {
  check?: boolean;
  to?: string;
  keep?: string[];
  output?: OutputFormat;
}

/** Says whether an upgrade to this command line's release, or the way back to an older one, is safe now. */
export async function upgrade(context: CommandContext, options: UpgradeOptions): Promise<number> {
  if (options.check !== true)
    throw usageError(
      'this command only looks, and changes nothing',
      'to look whether an upgrade is safe now, pass --check',
      'what upgrades: helm upgrade, or kubectl apply of the new release (docs/install.md#upgrade)',
    );
  const { terminal } = context;
  const target = targetOf(options.to);
  const cluster = await context.openCluster();
  const { kube } = cluster;
  const executions = await listObjects(kube, 'DRPlanExecution', undefined);
  const recorded = executions.findLast(({ status }) => status?.temporal !== undefined)?.status?.temporal;
  const temporal = await openTemporalOf(context, cluster, {
    recordedNamespace: recorded?.namespace,
    whose: 'this installation',
  });
  try {
    const id = clusterId(await readClusterUid(kube));
    const [pollers, deployments, definitions, runs, build] = await Promise.all([
      temporal.runs.pollers(id),
      programsOfCluster(kube),
      readDefinitions(kube),
      findLiveRuns(executions, temporal.runs),
      target === packageVersion() ? ownBuild(context) : undefined,
    ]);
    const situation: Situation = {
      target: { version: target, ...(build !== undefined && { build }) },
      kept: options.keep ?? [],
      programs: [...programsOfTemporal(pollers), ...(deployments ?? [])],
      definitions,
      runs,
    };
    const judgement = judge(situation);
    if (options.output !== undefined)
      await printValue(terminal, { ...situation, ...judgement }, options.output);
    else
      for (const line of upgradeLines(situation, judgement, {
        style: terminal.outStyle,
        now: context.now(),
      }))
        terminal.out(line);
    return judgement.isSafe ? EXIT.ok : EXIT.invalid;
  } finally {
    await temporal.close();
  }
}

/** The release that is gone to: this command line's, or an older one whose steps it knows. */
function targetOf(to: string | undefined): string {
  const own = packageVersion();
  if (to === undefined) return own;
  const [wanted, known] = [parseVersion(to), parseVersion(own)];
  if (wanted === undefined || !/^v?\d+\.\d+\.\d+$/.test(to))
    throw usageError(`"${to}" is no version`, 'write it as MAJOR.MINOR.PATCH, such as --to 0.1.0');
  if (known !== undefined && compareVersions(wanted, known) > 0)
    throw usageError(
      `this command line is ${own}, and does not know what ${to} changes`,
      `check with the command line of ${to}`,
    );
  return to.replace(/^v/, '');
}

/** What a worker of this release calls its build; undefined where its code is not here, as in a package of the command line alone. */
async function ownBuild({ options, environment }: CommandContext): Promise<string | undefined> {
  const encrypted = Boolean(options.encryptionKeys ?? environment.env['DROVER_ENCRYPTION_KEYS']);
  try {
    return buildName(packageVersion(), await readFile(bundlePath({ encrypted }), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function readDefinitions(kube: KubeClient): Promise<DefinitionGap[]> {
  const openApi = createOpenApi(kube, (schemas) => definitionGaps(KINDS, schemas));
  return (await openApi.of(API_VERSION)) ?? definitionGaps(KINDS, {});
}
