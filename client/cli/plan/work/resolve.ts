import { userInfo } from 'node:os';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import { CliError } from '../../core/cli-error.js';
import { confirmIntent } from '../../core/confirm.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { nearNames } from '../../../../api/core/near.js';
import { getObject } from '../../core/resources.js';
import { PAUSE_ANSWERS, type PauseAnswer } from '../pause-answers.js';
import { openTemporal, workflowIdOf } from '../../core/temporal.js';
import { executionArgument } from '../../core/name-argument.js';

/** Options of `drover retry`, `skip` and `abort`. */
export interface ResolveOptions {
  stage?: string;
  reason?: string;
  yes?: boolean;
}

/** Answers a run that waits for a person. */
export async function resolve(
  context: CommandContext,
  answer: PauseAnswer,
  text: string,
  options: ResolveOptions,
): Promise<number> {
  const name = executionArgument(text);
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
        ['effect', PAUSE_ANSWERS[answer].effect],
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
