import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import { CliError } from '../../core/cli-error.js';
import { confirmIntent } from '../../core/confirm.js';
import type { CommandContext } from '../../core/context.js';
import { restoredFrom } from '../backup/restored-from.js';
import { executionName } from '../execution-name.js';
import type { OutputFormat } from '../../core/output-format.js';
import { age } from '../../core/render/time.js';
import { getObject } from '../../core/resources.js';
import { afterCreate, createExecution } from '../start-execution.js';
import { executionArgument } from '../../core/name-argument.js';

/** Options of `drover revert`. */
export interface RevertOptions {
  watch?: boolean;
  force?: boolean;
  name?: string;
  yes?: boolean;
  output?: OutputFormat;
}

/** Creates the execution that undoes another. */
export async function revert(context: CommandContext, text: string, options: RevertOptions): Promise<number> {
  const targetName = executionArgument(text);
  const cluster = await context.openCluster();
  const { kube, namespace } = cluster;
  const target = await getObject(kube, 'DRPlanExecution', namespace, targetName, context.say);
  refuseWhatCannotBeReverted(target, context);

  const { planRef } = target.spec;
  const name = options.name ?? executionName(planRef, 'Revert');
  const { phase, completionTime } = target.status ?? {};
  const restored = await restoredFrom(kube, target);
  await confirmIntent(
    context.terminal,
    {
      question: `Undo execution ${targetName}?`,
      facts: [
        ['context', `${cluster.context} (${kube.server})`],
        ['namespace', namespace],
        ['plan', planRef],
        ['operation', 'Revert'],
        ['undoes', `${targetName}, ${phase} ${age(completionTime, context.now())} ago`],
        ...(restored === undefined ? [] : [['restored from', `cluster ${restored.cluster}`] as const]),
        ['execution', name],
      ],
      warnings: restored?.missing === undefined ? [] : [restored.missing],
    },
    options.yes === true,
  );
  const execution = await createExecution(kube, {
    namespace,
    name,
    spec: {
      planRef,
      operationType: 'Revert',
      revertExecutionRef: targetName,
      ...(options.force === true && { force: true }),
    },
  });
  return afterCreate(context, cluster, execution, options);
}

function refuseWhatCannotBeReverted(target: DRPlanExecution, context: CommandContext): void {
  const { metadata, spec, status } = target;
  if (spec.operationType === 'Revert') {
    throw new CliError(`execution "${metadata.name}" is itself a revert and cannot be undone`, {
      hints: [`to go forward again run the plan: ${context.say(`run ${spec.planRef}`)}`],
    });
  }
  if (!isTerminalExecution(status?.phase)) {
    throw new CliError(`execution "${metadata.name}" has not ended (${status?.phase ?? 'Pending'})`, {
      hints: [
        `wait for it: ${context.say(`watch ${metadata.name}`)}`,
        `or cancel it first: ${context.say(`cancel ${metadata.name}`)}`,
      ],
    });
  }
  if (status?.revertedBy !== undefined) {
    throw new CliError(`execution "${metadata.name}" was reverted by "${status.revertedBy.name}" already`, {
      hints: [`see how: ${context.say(`describe ${status.revertedBy.name}`)}`],
    });
  }
}
