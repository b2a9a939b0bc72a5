import { definitionGaps } from '../../../../api/core/definition-gap.js';
import { API_VERSION } from '../../../../api/core/group.js';
import { KINDS } from '../../../../api/kinds.js';
import type { KubeClient } from '../../../../kube/client.js';
import { KubeError } from '../../../../kube/error.js';
import { createOpenApi } from '../../../../kube/openapi.js';
import { doctor, type Finding } from '../../../../local/index.js';
import { CliError } from '../cli-error.js';
import { EXIT } from '../exit-codes.js';
import type { CommandContext } from '../context.js';
import {
  describeSigns,
  findForeignWebhooks,
  findPreviousController,
  PREVIOUS_CONTROLLER_NAMES,
} from '../../../../kube/previous-controller.js';
import { printValue } from '../output.js';
import type { OutputFormat } from '../output-format.js';
import type { Style } from '../render/style.js';
import { oneLine } from '../render/text.js';
import { askWebhooks } from '../serving-bridge.js';
import { readClusterUid } from '../../../../kube/cluster-id.js';
import { endOtherRuns, findOtherRuns } from '../other-runs.js';
import { openTemporalOf, temporalTarget } from '../temporal.js';
import { findWebhooks } from '../uninstall.js';
import { CRD_DIR } from './status.js';

/** Examines this machine, the data dir and the chosen cluster; ends with 3 where there is a problem. */
export async function examine(context: CommandContext, format: OutputFormat | undefined): Promise<number> {
  const { terminal, options, environment } = context;
  const findings = await doctor({ dataDir: context.dataDir, crdDir: CRD_DIR, env: environment.env });
  const chosen =
    options.kubeconfig !== undefined || options.useCurrentCluster === true || options.context !== undefined;
  if (chosen) findings.push(...(await clusterFindings(context)));
  findings.push(...(await otherRunsFindings(context)));
  if (format !== undefined) await printValue(terminal, findings, format);
  else
    for (const line of findings.flatMap((finding) => findingLines(finding, terminal.outStyle)))
      terminal.out(line);
  return findings.some((finding) => finding.level === 'problem') ? EXIT.error : EXIT.ok;
}

async function clusterFindings(context: CommandContext): Promise<Finding[]> {
  const subject = 'your cluster';
  try {
    const { kube, context: name } = await context.openCluster();
    const version = await kube.raw<{ gitVersion: string }>({
      method: 'GET',
      path: '/version',
      timeoutMs: 10_000,
    });
    const found: Finding = {
      subject,
      level: 'ok',
      message: `context ${name} (${kube.server}) answers, ${version.gitVersion}`,
    };
    const definitions = await Promise.all(
      (['DRPlan', 'DRWorkflow', 'DRPlanExecution'] as const).map(async (kind): Promise<Finding[]> => {
        try {
          await kube.resolve(API_VERSION, kind);
          return [];
        } catch (error) {
          return [
            {
              subject,
              level: 'problem',
              message: error instanceof Error ? error.message : String(error),
              advice: 'apply the definitions: kubectl apply -f deploy/crds',
            },
          ];
        }
      }),
    );
    return [
      found,
      ...definitions.flat(),
      ...(await definitionFindings(kube)),
      ...(await webhookFindings(kube)),
      ...(await predecessorFindings(kube)),
    ];
  } catch (error) {
    return [
      {
        subject,
        level: 'problem',
        message: error instanceof Error ? error.message : String(error),
        advice:
          error instanceof CliError && error.hints.length > 0
            ? error.hints.join('; ')
            : 'check the kubeconfig',
      },
    ];
  }
}

/** Runs of a cluster that was lost stay open for ever; those of one that shares the Temporal namespace are as they should be. */
async function otherRunsFindings(context: CommandContext): Promise<Finding[]> {
  // Without a cluster or a Temporal, other findings say so.
  const cluster = await context.openCluster().catch(() => undefined);
  if (cluster === undefined) return [];
  const target = temporalTarget(context, cluster, undefined);
  if (target === undefined) return [];
  try {
    const access = await openTemporalOf(context, cluster, {
      recordedNamespace: undefined,
      whose: 'this cluster',
    });
    try {
      const others = await findOtherRuns(access.runs, await readClusterUid(cluster.kube));
      return others.map(({ cluster: id, workflowIds }) => ({
        subject: 'runs of other clusters',
        level: 'ok',
        message: `${workflowIds.length} open in Temporal, of cluster ${id}: ${workflowIds.slice(0, MAX_NAMED_RUNS).join(', ')}${workflowIds.length > MAX_NAMED_RUNS ? ', …' : ''}`,
        advice: `nobody here carries them on; if that cluster is gone for good: ${endOtherRuns(id, target.namespace)}`,
      }));
    } finally {
      await access.close();
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [{ subject: 'runs of other clusters', level: 'warning', message: `not known: ${message}` }];
  }
}

const MAX_NAMED_RUNS = 5;

/** An installation may do without webhooks, so their absence is only a warning. */
async function webhookFindings(kube: KubeClient): Promise<Finding[]> {
  const webhooks = await findWebhooks(kube).catch((error: unknown) => {
    if (error instanceof KubeError && error.code === 403) return undefined;
    throw error;
  });
  if (webhooks === undefined) return [];
  if (webhooks.length > 0) return unreachableFindings(kube);
  return [
    {
      subject: 'webhooks',
      level: 'warning',
      message:
        'none of Drover are registered: nothing is checked when it is created, and who asked is not known',
      advice: 'start a bridge with webhooks (docs/admission.md); it registers them',
    },
  ];
}

/** Webhooks that nobody answers keep everything from being created. */
async function unreachableFindings(kube: KubeClient): Promise<Finding[]> {
  const answer = await askWebhooks(kube);
  if (answer.kind !== 'unreachable') return [];
  return [
    {
      subject: 'webhooks',
      level: 'problem',
      message: `the API server cannot call them, so nothing of Drover's kinds can be created or changed: ${answer.why}`,
      advice:
        'see that a bridge is ready (kubectl -n drover-system get pods); if one is, let the API server through firewalls and NetworkPolicies to the port of the webhooks (9443), or correct --webhook-url',
    },
  ];
}

/** Definitions that are not those of this release. */
async function definitionFindings(kube: KubeClient): Promise<Finding[]> {
  const openApi = createOpenApi(kube, (schemas) => definitionGaps(KINDS, schemas));
  const gaps = (await openApi.of(API_VERSION)) ?? [];
  return gaps.flatMap(({ kind, state, lacks: [lacking] }): Finding[] => {
    if (lacking !== undefined)
      return [
        {
          subject: 'definitions',
          level: 'warning',
          message: `${kind} is older than this command line: it lacks ${lacking}, for instance`,
          advice: `what upgrades: kubectl apply --server-side --force-conflicts -f deploy/crds; look first: drover upgrade --check`,
        },
      ];
    if (state !== 'newer') return [];
    return [
      {
        subject: 'definitions',
        level: 'warning',
        message: `${kind} is newer than this command line, which does not know all its fields`,
        advice: 'use the command line of the release that is installed',
      },
    ];
  });
}

const OWN_WEBHOOKS = 'drover';

/** What the controller that Drover takes over from does, or has left behind. */
async function predecessorFindings(kube: KubeClient): Promise<Finding[]> {
  const subject = 'previous controller';
  try {
    const [signs, webhooks] = await Promise.all([
      findPreviousController(kube, { names: PREVIOUS_CONTROLLER_NAMES }),
      findForeignWebhooks(kube, OWN_WEBHOOKS),
    ]);
    const running: Finding[] =
      signs.length === 0
        ? []
        : [
            {
              subject,
              level: 'problem',
              message: `still runs: ${describeSigns(signs)}; the bridge begins nothing beside it`,
              advice: 'scale it to zero as docs/migrating.md says; the bridge notices by itself',
            },
          ];
    const left = webhooks.map(({ kind, name, blocks }): Finding => ({
      subject,
      level: blocks && signs.length === 0 ? 'problem' : 'warning',
      message: `${kind} "${name}" is not Drover's and is asked about its objects${blocks ? ': they cannot be created or changed while nobody answers it' : ''}`,
      advice: `once the previous controller has stopped: kubectl delete ${kind.toLowerCase()} ${name}`,
    }));
    return [...running, ...left];
  } catch (error) {
    return [
      {
        subject,
        level: 'warning',
        message: `cannot tell whether it runs: ${error instanceof Error ? error.message : String(error)}`,
        advice: 'look with an account that may list Deployments, Leases and webhook configurations',
      },
    ];
  }
}

/** A finding in one line, and below it what to do. */
export function findingLines({ subject, level, message, advice }: Finding, style: Style): string[] {
  const SUBJECT_WIDTH = 24;
  const sign = { ok: style.sign('Succeeded'), warning: style.warn('!'), problem: style.sign('Failed') }[
    level
  ];
  const lines = [`${sign} ${subject.padEnd(SUBJECT_WIDTH)} ${oneLine(message)}`];
  if (advice !== undefined) lines.push(`  ${' '.repeat(SUBJECT_WIDTH)} ${style.dim(oneLine(advice))}`);
  return lines;
}
