import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import { CliError } from '../../core/cli-error.js';
import { confirmIntent } from '../../core/confirm.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { nearNames } from '../../../../api/core/near.js';
import { getObject } from '../../core/resources.js';
import { openTemporal, workflowIdOf } from '../../core/temporal.js';
import { addExamples, executionArgument, type Perform, yesOption } from '../../core/commands/shared.js';

type Answer = 'retry' | 'skip' | 'abort';

interface ResolveOptions {
  stage?: string;
  reason?: string;
  yes?: boolean;
}

const ANSWERS: Record<Answer, { summary: string; effect: string }> = {
  retry: { summary: 'retry what failed in a paused run', effect: 'What failed in the stage is tried again.' },
  skip: {
    summary: 'skip what failed in a paused run',
    effect: 'What failed in the stage is left as it is, and the plan goes on.',
  },
  abort: {
    summary: 'end a paused run',
    effect: 'The run ends Failed, as it would have without the pause.',
  },
};

/** `drover retry|skip|abort EXECUTION`: answers a run that waits for a person (onFailure: Pause). */
export function addResolve(program: Command, perform: Perform): void {
  for (const answer of ['retry', 'skip', 'abort'] as const) {
    const { summary, effect } = ANSWERS[answer];
    const command = program
      .command(answer)
      .summary(summary)
      .description(`Answers a run that waits for a person (onFailure: Pause). ${effect}`)
      .argument('<execution>', 'name of the execution')
      .option('--stage <name>', 'only this stage (default: every stage that waits)')
      .option('--reason <text>', 'why; recorded with the run')
      .addOption(yesOption())
      .action((execution: string, options: ResolveOptions, self: Command) =>
        perform(self, (context) => resolve(context, answer, executionArgument(execution), options)),
      );
    addExamples(command, [[`${answer} shop-switchover-x7k2p --stage promote`, summary]]);
  }
}

async function resolve(
  context: CommandContext,
  answer: Answer,
  name: string,
  options: ResolveOptions,
): Promise<number> {
  const cluster = await context.openCluster();
  const { kube, namespace } = cluster;
  const execution = await getObject(kube, 'DRPlanExecution', namespace, name, context.say);
  const { spec, status } = execution;
  if (isTerminalExecution(status?.phase)) {
    throw new CliError(`execution "${name}" has ended already (${status?.phase}); it waits for nobody`);
  }
  const stages = (status?.stageStatuses ?? []).map((stage) => stage.name);
  if (options.stage !== undefined && !stages.includes(options.stage)) {
    const near = nearNames(options.stage, stages, 1)[0];
    throw new CliError(`execution "${name}" has no stage "${options.stage}"`, {
      hints: [near === undefined ? `its stages: ${stages.join(', ')}` : `did you mean "${near}"?`],
    });
  }
  const workflowId = workflowIdOf(execution);
  await confirmIntent(
    context.terminal,
    {
      question: `Send ${answer} to execution ${name}?`,
      facts: [
        ['context', `${cluster.context} (${kube.server})`],
        ['namespace', namespace],
        ['plan', spec.planRef],
        ['execution', `${name}, ${status?.phase ?? 'Pending'}`],
        ['stage', options.stage ?? 'every stage that waits'],
        ['effect', ANSWERS[answer].effect],
      ],
    },
    options.yes === true,
  );
  const temporal = await openTemporal(context, cluster, execution);
  try {
    const result = await temporal.runs.resolve(workflowId, answer, {
      ...(options.stage !== undefined && { stage: options.stage }),
      ...(options.reason !== undefined && { reason: options.reason }),
      requestedBy: userInfo().username,
    });
    if (result === 'notRunning') throw new CliError(`the run of execution "${name}" is not running any more`);
  } finally {
    await temporal.close();
  }
  context.terminal.note(`sent ${answer} to ${namespace}/${name}`);
  context.terminal.note(`next: ${context.say(`watch ${name}`)}`);
  return EXIT.ok;
}
