import { isAccountName } from '../../../../api/plan/authority.js';
import type { Mode } from '../../../../api/plan/order/hooks.js';
import type { DRPlan, DRWorkflow, Parameter } from '../../../../api/plan/types.js';
import type { KubeClient } from '../../../../kube/client.js';
import { CliError } from '../../core/cli-error.js';
import type { Cluster } from '../../core/cluster.js';
import { confirmIntent } from '../../core/confirm.js';
import { type CommandContext, quoted, temporalAddress } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { executionName } from '../execution-name.js';
import { missingAccount } from '../missing-account.js';
import type { OutputFormat } from '../../core/output-format.js';
import { parseParams } from '../params.js';
import { preflightPlan } from '../preflight.js';
import { getObject, keyFor } from '../../core/resources.js';
import { afterCreate, createExecution } from '../start-execution.js';
import { unreadParams } from '../unread-params.js';
import { linesOf, summaryOf } from './preflight.js';
import { nameOf } from '../../core/name-argument.js';

/** Options of `drover run`. */
export interface RunOptions {
  param?: string[];
  watch?: boolean;
  runMode?: 'Planned' | 'Emergency' | 'Drill';
  name?: string;
  mode?: Mode;
  rerun?: boolean;
  preflight?: boolean;
  yes?: boolean;
  output?: OutputFormat;
}

/** Creates an execution of a plan. */
export async function run(context: CommandContext, text: string, options: RunOptions): Promise<number> {
  const planName = nameOf(text, ['DRPlan']).name;
  const params = parseParams(options.param ?? []);
  const cluster = await context.openCluster();
  const { kube, namespace } = cluster;
  const plan = await getObject(kube, 'DRPlan', namespace, planName, context.say);
  refuseWhatCannotStart(plan, options, context);

  if (options.preflight === true) await tryFirst(context, cluster, plan, params, options);
  const name = options.name ?? executionName(planName, 'Execute');
  await confirmIntent(
    context.terminal,
    {
      question: `Execute plan ${planName}?`,
      facts: [
        ['context', `${cluster.context} (${kube.server})`],
        ['namespace', namespace],
        ['plan', `${planName}, ${describeSize(plan)}`],
        [
          'operation',
          ['Execute', options.mode, options.runMode].filter((word) => word !== undefined).join(', '),
        ],
        ...(params.length === 0
          ? []
          : [['parameters', params.map((param) => `${param.name}=${param.value}`).join(' ')] as const]),
        ['execution', name],
      ],
      warnings: await doubts(kube, plan, params),
    },
    options.yes === true,
  );
  const execution = await createExecution(kube, {
    namespace,
    name,
    spec: {
      planRef: planName,
      operationType: 'Execute',
      ...(params.length > 0 && { params }),
      ...(options.mode !== undefined && { mode: options.mode }),
      ...(options.runMode !== undefined && { runMode: options.runMode }),
      ...(options.rerun === true && { rerun: 'Allowed' as const }),
    },
  });
  return afterCreate(context, cluster, execution, options);
}

/** Stops before anything is created when the plan would not go through as things are. */
async function tryFirst(
  context: CommandContext,
  cluster: Cluster,
  plan: DRPlan,
  params: readonly Parameter[],
  { runMode }: RunOptions,
): Promise<void> {
  const report = await preflightPlan(cluster, {
    plan,
    params,
    temporal: temporalAddress(context),
    ...(runMode !== undefined && { runMode }),
  });
  const { note, noteStyle } = context.terminal;
  for (const line of linesOf(report, noteStyle)) note(line);
  note(summaryOf(report));
  if (report.problems === 0) return;
  throw new CliError(`plan "${plan.metadata.name}" would fail as things are; nothing was started`, {
    hints: [`mend what is told above, or run it without --preflight`],
    exitCode: EXIT.invalid,
  });
}

/** Says at once what the bridge would say in the status of a failed execution. */
function refuseWhatCannotStart(plan: DRPlan, options: RunOptions, context: CommandContext): void {
  const { metadata, status } = plan;
  const holder = status?.currentExecution;
  if (holder !== undefined) {
    throw new CliError(`plan "${metadata.name}" is busy with execution "${holder.name}"`, {
      hints: [
        `look at it: ${context.say(`watch ${holder.name}`)}`,
        `or cancel it: ${context.say(`cancel ${holder.name}`)}`,
      ],
    });
  }
  // A status that is behind the spec says nothing about it.
  if (status?.observedGeneration !== metadata.generation) return;
  if (status?.phase === 'Invalid') {
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    throw new CliError(
      `plan "${metadata.name}" is Invalid${ready === undefined ? '' : `: ${ready.reason}: ${ready.message}`}`,
      { hints: [`mend it, then try again; details: ${context.say(`describe plan/${metadata.name}`)}`] },
    );
  }
  const forExecuted = options.mode !== undefined && options.mode !== 'Install';
  if (status?.phase === 'Executed' && options.rerun !== true && !forExecuted) {
    const last = status.executedBy?.name ?? status.lastExecutionRef;
    const again = [
      'run',
      metadata.name,
      '--rerun',
      ...(options.param ?? []).map((param) => `-p ${quoted(param)}`),
    ];
    throw new CliError(
      `plan "${metadata.name}" has been executed already${last === undefined ? '' : ` ("${last}")`}`,
      {
        hints: [
          ...(last === undefined ? [] : [`undo that first: ${context.say(`revert ${last}`)}`]),
          `or run it again on top: ${context.say(again.join(' '))}, or with --mode Upgrade or Delete`,
        ],
      },
    );
  }
}

function describeSize({ spec, status }: DRPlan): string {
  const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`;
  const workflows = spec.stages.reduce((sum, stage) => sum + stage.workflows.length, 0);
  return `${count(spec.stages.length, 'stage')}, ${count(workflows, 'workflow')} (${status?.phase ?? 'not checked yet'})`;
}

/** What a person should see before saying yes: most of all parameters that nothing reads. */
async function doubts(kube: KubeClient, plan: DRPlan, params: readonly Parameter[]): Promise<string[]> {
  const warnings: string[] = [];
  if (plan.status?.phase === undefined) warnings.push('no bridge has checked this plan yet');
  const { namespace = 'default' } = plan.metadata;
  const name = plan.spec.serviceAccountName ?? '';
  const missing = isAccountName(name) ? await missingAccount(kube, { namespace, name }) : undefined;
  if (missing !== undefined) warnings.push(missing);
  if (params.length === 0) return warnings;
  const workflows = await workflowsOf(kube, plan);
  warnings.push(...unreadParams(params, plan, workflows));
  return warnings;
}

async function workflowsOf(kube: KubeClient, plan: DRPlan): Promise<DRWorkflow[]> {
  const references = new Map(
    plan.spec.stages.flatMap((stage) =>
      stage.workflows.map(({ workflowRef }) => {
        const key = keyFor(
          'DRWorkflow',
          workflowRef.namespace ?? plan.metadata.namespace ?? 'default',
          workflowRef.name,
        );
        return [`${key.namespace}/${key.name}`, key] as const;
      }),
    ),
  );
  const found = await Promise.all([...references.values()].map((key) => kube.get<DRWorkflow>(key)));
  return found.filter((workflow) => workflow !== undefined);
}
