import { userInfo } from 'node:os';
import { CANCEL_VALUES, type CancelAsked } from '../../../../api/core/cancel.js';
import { ANNOTATIONS, FIELD_MANAGER } from '../../../../api/core/group.js';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { CliError } from '../../core/cli-error.js';
import type { Cluster } from '../../core/cluster.js';
import { confirmIntent } from '../../core/confirm.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { printValue, withoutManagedFields } from '../../core/output.js';
import type { OutputFormat } from '../../core/output-format.js';
import { getObject, keyFor } from '../../core/resources.js';
import type { KubeClient } from '../../../../kube/client.js';
import { terminateGone } from '../terminate-gone.js';
import { watchExecution } from '../watch-execution.js';
import { openTemporal, workflowIdOf } from '../../core/temporal.js';
import { executionArgument } from '../../core/name-argument.js';

/** Options of `drover cancel`. */
export interface CancelOptions {
  reason?: string;
  force?: boolean;
  terminate?: boolean;
  temporalLost?: boolean;
  yes?: boolean;
  output?: OutputFormat;
}

/** Cancels or terminates a run. */
export async function cancel(context: CommandContext, text: string, options: CancelOptions): Promise<number> {
  const name = executionArgument(text);
  const cluster = await context.openCluster();
  const { kube, namespace } = cluster;
  const isTermination = options.terminate === true;
  const key = keyFor('DRPlanExecution', namespace, name);
  if (isTermination && (await kube.get(key)) === undefined)
    return terminateGone(context, cluster, name, options);
  const execution = await getObject(kube, 'DRPlanExecution', namespace, name, context.say);
  const { spec, status } = execution;
  if (isTerminalExecution(status?.phase)) {
    throw new CliError(
      `execution "${name}" has ended already (${status?.phase}); there is nothing to cancel`,
      {
        hints:
          spec.operationType === 'Execute' ? [`to undo what it did: ${context.say(`revert ${name}`)}`] : [],
      },
    );
  }
  await confirmIntent(
    context.terminal,
    {
      question: isTermination ? `Terminate execution ${name}?` : `Cancel execution ${name}?`,
      facts: [
        ['context', `${cluster.context} (${kube.server})`],
        ['namespace', namespace],
        ['plan', spec.planRef],
        ['execution', `${name}, ${spec.operationType}, ${status?.phase ?? 'Pending'}`],
        ...(options.reason === undefined ? [] : [['reason', options.reason] as const]),
        ...(isTermination ? WHAT_TERMINATION_DOES : []),
      ],
      ...(isTermination && { warnings: warningsOfTermination(execution) }),
      ...(options.temporalLost === true && { warnings: WARNINGS_OF_LOSS }),
    },
    options.yes === true,
  );

  // The signal goes first: the annotation alone carries no reason, and the first request is the one recorded.
  if (options.reason !== undefined || options.force === true)
    await signal(context, cluster, execution, options);
  const annotated = await kube.patch<DRPlanExecution>(
    key,
    {
      metadata: {
        annotations: { [ANNOTATIONS.cancel]: CANCEL_VALUES[askedBy(options)] },
      },
    },
    { kind: 'merge', fieldManager: FIELD_MANAGER },
  );
  if (isTermination) return awaitTermination(context, kube, annotated, options.output);
  context.terminal.note(`asked for the cancel of ${namespace}/${name}`);
  context.terminal.note(`next: ${context.say(`watch ${name}`)}`);
  if (options.output !== undefined)
    await printValue(context.terminal, withoutManagedFields(annotated), options.output);
  return EXIT.ok;
}

const askedBy = ({ terminate = false, temporalLost = false }: CancelOptions): CancelAsked =>
  terminate ? 'terminate' : temporalLost ? 'temporalLost' : 'cancel';

/** Nothing of a run is settled that nobody can reach. */
const WARNINGS_OF_LOSS = [
  'if the recorded Temporal is there after all, its run goes on by itself: make sure that it is gone for good',
  'what its actions had begun is not stopped: look at it before the plan runs again',
];

/** As the bridge does it, in order. */
const WHAT_TERMINATION_DOES = [
  ['ends', 'the run in Temporal, without asking it; stages that can still act cancel themselves'],
  [
    'settles',
    'what actions had begun: each is looked for and stopped; what cannot be found out is Interrupted',
  ],
  ['then', 'the execution is Failed, RunTerminated, and the plan is free'],
] as const;

/** Reasons of condition Progressing of runs that a cancel does not reach. */
const OUT_OF_REACH: ReadonlySet<string> = new Set(['WorkflowTaskFailing', 'NoWorker', 'Settling']);

function warningsOfTermination({ metadata, spec, status }: DRPlanExecution): string[] {
  const reason = status?.conditions?.find(({ type }) => type === 'Progressing')?.reason ?? '';
  return [
    ...(OUT_OF_REACH.has(reason)
      ? []
      : [
          `workers carry this run on, as far as its status shows: "cancel ${metadata.name}" stops it in order`,
        ]),
    ...(spec.operationType === 'Revert' || spec.mode === 'Rollback'
      ? ['what it has not undone yet stays as it is; it can be reverted again']
      : []),
  ];
}

/** Shows how the run is ended, until it is. */
async function awaitTermination(
  context: CommandContext,
  kube: KubeClient,
  { metadata }: DRPlanExecution,
  output: OutputFormat | undefined,
): Promise<number> {
  const { name, namespace = '', uid } = metadata;
  context.terminal.note(`asked for the end of ${namespace}/${name}; what it had begun is being settled`);
  const key = { namespace, name, ...(uid !== undefined && { uid }) };
  const code = await watchExecution(context, kube, key, output, { isEnding: true });
  // A terminated run is meant to end Failed.
  return code === EXIT.interrupted ? code : EXIT.ok;
}

async function signal(
  context: CommandContext,
  cluster: Cluster,
  execution: DRPlanExecution,
  options: CancelOptions,
): Promise<void> {
  try {
    const workflowId = workflowIdOf(execution);
    const temporal = await openTemporal(context, cluster, execution);
    try {
      await temporal.runs.signalCancel(workflowId, {
        ...(options.reason !== undefined && { reason: options.reason }),
        ...(options.force === true && { force: true }),
        requestedBy: userInfo().username,
        via: 'Signal',
      });
    } finally {
      await temporal.close();
    }
  } catch (error) {
    // An annotation cannot force; without a reason, cancelling still does what was asked for.
    if (options.force === true) throw error;
    const why = error instanceof Error ? error.message : String(error);
    context.terminal.note(context.terminal.noteStyle.warn(`the reason is not recorded: ${why}`));
  }
}
