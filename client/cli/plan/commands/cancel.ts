import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { ANNOTATIONS, FIELD_MANAGER } from '../../../../api/core/group.js';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { CliError } from '../../core/cli-error.js';
import type { Cluster } from '../../core/cluster.js';
import { confirmIntent } from '../../core/confirm.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { type OutputFormat, printValue, withoutManagedFields } from '../../core/output.js';
import { getObject, keyFor } from '../../core/resources.js';
import { openTemporal, workflowIdOf } from '../../core/temporal.js';
import {
  addExamples,
  executionArgument,
  outputOption,
  type Perform,
  yesOption,
} from '../../core/commands/shared.js';

interface CancelOptions {
  reason?: string;
  force?: boolean;
  yes?: boolean;
  output?: OutputFormat;
}

/** `drover cancel EXECUTION`. */
export function addCancel(program: Command, perform: Perform): void {
  const command = program
    .command('cancel')
    .summary('cancel a run')
    .description(
      'Cancels a run: nothing new starts, what runs is interrupted, the rest is skipped. What was done stays done and can be reverted.',
    )
    .argument('<execution>', 'name of the execution')
    .option('--reason <text>', 'why; recorded with the run when its Temporal can be reached')
    .option('--force', 'also abort a rollback that runs (needs Temporal)')
    .addOption(yesOption())
    .addOption(outputOption())
    .action((execution: string, options: CancelOptions, self: Command) =>
      perform(self, (context) => cancel(context, executionArgument(execution), options)),
    );
  addExamples(command, [
    ['cancel shop-switchover-x7k2p --reason "wrong site"', 'stop a run and say why'],
    [
      'kubectl annotate drpx shop-switchover-x7k2p dr.bkbcs.tencent.com/cancel=true',
      'the same without this command',
    ],
  ]);
}

async function cancel(context: CommandContext, name: string, options: CancelOptions): Promise<number> {
  const cluster = await context.openCluster();
  const { kube, namespace } = cluster;
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
      question: `Cancel execution ${name}?`,
      facts: [
        ['context', `${cluster.context} (${kube.server})`],
        ['namespace', namespace],
        ['plan', spec.planRef],
        ['execution', `${name}, ${spec.operationType}, ${status?.phase ?? 'Pending'}`],
        ...(options.reason === undefined ? [] : [['reason', options.reason] as const]),
      ],
    },
    options.yes === true,
  );

  // The signal goes first: the annotation alone carries no reason, and the first request is the one recorded.
  if (options.reason !== undefined || options.force === true)
    await signal(context, cluster, execution, options);
  const annotated = await kube.patch<DRPlanExecution>(
    keyFor('DRPlanExecution', namespace, name),
    { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
    { kind: 'merge', fieldManager: FIELD_MANAGER },
  );
  context.terminal.note(`asked for the cancel of ${namespace}/${name}`);
  context.terminal.note(`next: ${context.say(`watch ${name}`)}`);
  if (options.output !== undefined)
    printValue(context.terminal, withoutManagedFields(annotated), options.output);
  return EXIT.ok;
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
