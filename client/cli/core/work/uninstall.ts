import type { KubeClient } from '../../../../kube/client.js';
import type { ObjectKey } from '../../../../kube/object.js';
import { CliError } from '../cli-error.js';
import { confirmIntent } from '../confirm.js';
import type { Cluster } from '../cluster.js';
import type { CommandContext } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { findServingBridge } from '../serving-bridge.js';
import {
  cancelRuns,
  findInstallation,
  findWebhooks,
  releaseExecutions,
  removeAll,
  removeSnapshots,
} from '../uninstall.js';
import type { FoundExecution, Installation } from '../uninstall.js';

/** Options of `drover uninstall`. */
export interface UninstallOptions {
  cancelRuns?: boolean;
  abandonRuns?: boolean;
  keepKinds?: boolean;
  ignoreBridge?: boolean;
  timeout: string;
  yes?: boolean;
}

/** Objects that a message names. */
const MAX_NAMED = 5;

const REMOVE_TIMEOUT_MS = 120_000;

/** Takes Drover out of the chosen cluster. */
export async function uninstall(context: CommandContext, options: UninstallOptions): Promise<number> {
  const { terminal } = context;
  const { kube, context: name, embedded } = await context.openCluster();
  const found = await findInstallation(kube);
  const live = found.executions.filter(({ hasEnded }) => !hasEnded);
  await confirmIntent(
    terminal,
    {
      question: 'Take all of this away?',
      facts: [['context', `${name} (${kube.server})`], ...facts(found, options.keepKinds === true)],
      warnings: warnings(live, options),
    },
    options.yes === true,
  );
  await endRuns(context, kube, live, options);
  await remove(context, kube, found.programs, 'bridge and worker');
  if (options.ignoreBridge !== true) await refuseServing(context, kube, { found, embedded });
  await remove(context, kube, found.webhooks, 'webhooks');
  const released = await releaseExecutions(kube);
  if (released > 0) terminal.note(`finalizers: taken off ${countOf(released, 'execution')}`);
  if (options.keepKinds !== true) {
    await remove(context, kube, found.kinds, 'kinds and their objects');
    const snapshots = await removeSnapshots(kube);
    if (snapshots > 0) terminal.note(`snapshots: removed ${snapshots}`);
  }
  if ((await findWebhooks(kube)).length > 0) {
    throw new CliError('a bridge still serves: it has put the webhooks back', {
      hints: ['stop it, then run this again'],
    });
  }
  if (embedded !== undefined) {
    terminal.out('Drover is gone from this cluster; what "up" has started still runs:');
    terminal.out(`  ${context.say('down')}`);
    return EXIT.ok;
  }
  terminal.out('Drover is gone from this cluster, but for its accounts, rights and keys:');
  terminal.out('  kubectl delete --ignore-not-found -f deploy/programs -f deploy/webhook -f deploy/rbac');
  return EXIT.ok;
}

/** A bridge outside the cluster would keep serving without its kinds, and register its webhooks again. */
async function refuseServing(
  context: CommandContext,
  kube: KubeClient,
  { found, embedded }: { found: Installation; embedded: Cluster['embedded'] },
): Promise<void> {
  const serving = await findServingBridge(kube, {
    onWait: (seconds) =>
      context.terminal.note(`bridge: looking whether one still serves, for ${seconds} s at most`),
  });
  if (serving === undefined) return;
  const others = found.programs.length === 0 ? '' : ' beside the Deployments, which have been removed';
  throw new CliError(`${serving}${others}; nothing else was taken away`, {
    hints: [
      embedded === undefined
        ? 'stop it and the worker where they run outside the cluster, then run this again'
        : `it is the one that "up" has started: ${context.say('down')} stops it together with this cluster, whose data is in ${embedded.paths.root}`,
      'to go on all the same: --ignore-bridge',
    ],
  });
}

function facts(found: Installation, keepKinds: boolean): [string, string][] {
  const { executions, plans, workflows, programs, webhooks, kinds } = found;
  const named = (keys: readonly ObjectKey[]): string =>
    keys.length === 0 ? 'none' : keys.map(({ name }) => name).join(', ');
  const objects = [
    countOf(workflows, 'workflow'),
    countOf(plans, 'plan'),
    countOf(executions.length, 'execution'),
  ].join(', ');
  return [
    ['programs', named(programs)],
    ['webhooks', webhooks.length === 0 ? 'none' : webhooks.map(({ kind }) => kind).join(', ')],
    ['kinds', keepKinds ? `kept, with ${objects}` : `${named(kinds)}, with ${objects}`],
  ];
}

function warnings(live: readonly FoundExecution[], options: UninstallOptions): string[] {
  if (live.length === 0) return [];
  const what = `${notEnded(live)}: ${names(live)}`;
  if (options.cancelRuns === true) return [`${what}; they are cancelled`];
  return [options.abandonRuns === true ? `${what}; nobody will look after them` : what];
}

const notEnded = ({ length }: readonly FoundExecution[]): string =>
  length === 1 ? '1 execution has not ended' : `${length} executions have not ended`;

const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

function names(executions: readonly FoundExecution[]): string {
  const shown = executions.slice(0, MAX_NAMED).map(({ namespace, name }) => `${namespace}/${name}`);
  return executions.length > MAX_NAMED ? `${shown.join(', ')}, …` : shown.join(', ');
}

async function endRuns(
  context: CommandContext,
  kube: KubeClient,
  live: readonly FoundExecution[],
  options: UninstallOptions,
): Promise<void> {
  const seconds = Number(options.timeout);
  if (!Number.isFinite(seconds) || seconds < 0) {
    throw new CliError(`--timeout ${options.timeout}: a number of seconds is wanted`, {
      exitCode: EXIT.usage,
    });
  }
  let left = live;
  if (options.cancelRuns === true && live.length > 0) {
    let shown = -1;
    left = await cancelRuns(kube, {
      timeoutMs: seconds * 1000,
      onWait: (count) => {
        if (count !== shown) context.terminal.note(`runs: waiting for the end of ${count}`);
        shown = count;
      },
    }).catch((error: unknown) => {
      if (options.abandonRuns !== true) throw error;
      context.terminal.note(
        `runs: cannot be cancelled: ${error instanceof Error ? error.message : String(error)}`,
      );
      return live;
    });
  }
  if (left.length === 0 || options.abandonRuns === true) return;
  throw new CliError(`${notEnded(left)}: ${names(left)}; nothing was taken away`, {
    hints: [
      ...(options.cancelRuns === true
        ? [
            `see what keeps them: ${context.say('describe EXECUTION -n NAMESPACE')}; a bridge has to run for their end`,
          ]
        : ['wait for their end, or cancel them: --cancel-runs']),
      'to leave them to themselves: --abandon-runs; they may go on in Temporal until somebody terminates them',
    ],
  });
}

async function remove(
  context: CommandContext,
  kube: KubeClient,
  keys: readonly ObjectKey[],
  what: string,
): Promise<void> {
  if (keys.length === 0) return;
  context.terminal.note(`${what}: removing`);
  const left = await removeAll(kube, keys, { timeoutMs: REMOVE_TIMEOUT_MS });
  if (left.length > 0) {
    throw new CliError(
      `${what}: still there: ${left.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`,
      {
        hints: ['something holds them with a finalizer; look at them, then run this again'],
      },
    );
  }
}
