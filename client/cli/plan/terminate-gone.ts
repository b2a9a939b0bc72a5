/** The end of a run whose execution was deleted while it could not go on: only its plan still knows it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterId, runWorkflowId } from '../../../api/plan/naming.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import { readClusterUid } from '../../../kube/cluster-id.js';
import type { Cluster } from '../core/cluster.js';
import { confirmIntent } from '../core/confirm.js';
import type { CommandContext } from '../core/context.js';
import { EXIT } from '../core/exit-codes.js';
import { onInterrupt } from '../core/interrupt.js';
import { printValue, withoutManagedFields } from '../core/output.js';
import type { OutputFormat } from '../core/output-format.js';
import { getObject, listObjects, notFound } from '../core/resources.js';
import { openTemporal } from '../core/temporal.js';

const LOOK_MS = 1_000;

/**
 * Terminates the run of an execution that is gone, and waits until its plan is free: the bridge settles first what the run
 * had begun.
 *
 * @throws CliError when no plan is held by an execution of that name
 */
export async function terminateGone(
  context: CommandContext,
  cluster: Cluster,
  name: string,
  options: { yes?: boolean; output?: OutputFormat },
): Promise<number> {
  const { kube, namespace } = cluster;
  const { terminal, say } = context;
  const plan = (await listObjects(kube, 'DRPlan', namespace)).find(
    ({ status }) => status?.currentExecution?.name === name,
  );
  const uid = plan?.status?.currentExecution?.uid;
  if (plan === undefined || uid === undefined)
    throw await notFound(kube, ['DRPlanExecution'], { namespace, name, say });
  const workflowId = runWorkflowId({
    cluster: clusterId(await readClusterUid(kube)),
    namespace,
    name,
    uid,
  });
  await confirmIntent(
    terminal,
    {
      question: `Terminate the run of execution ${name}?`,
      facts: [
        ['context', `${cluster.context} (${kube.server})`],
        ['namespace', namespace],
        ['plan', plan.metadata.name],
        ['execution', `${name}, deleted; its run holds the plan`],
        ['ends', `the run "${workflowId}" in Temporal, without asking it`],
        ['then', 'what its actions had begun is settled, and the plan is free'],
      ],
    },
    options.yes === true,
  );
  const temporal = await openTemporal(context, cluster, standIn(plan, name, uid));
  try {
    const sent = await temporal.runs.terminate(workflowId, 'asked for with "drover cancel --terminate"');
    terminal.note(
      `${sent === 'accepted' ? 'terminated' : 'has ended already:'} ${workflowId}; what it had begun is being settled`,
    );
  } finally {
    await temporal.close();
  }
  return awaitFreePlan(context, cluster, { plan, uid, output: options.output });
}

async function awaitFreePlan(
  context: CommandContext,
  { kube, namespace }: Cluster,
  { plan, uid, output }: { plan: DRPlan; uid: string; output: OutputFormat | undefined },
): Promise<number> {
  const { terminal, say } = context;
  const { name } = plan.metadata;
  const interrupt = onInterrupt();
  try {
    while (!interrupt.interrupted()) {
      const now = await getObject(kube, 'DRPlan', namespace, name, say);
      if (now.status?.currentExecution?.uid !== uid) {
        terminal.note(`plan ${namespace}/${name} is free`);
        if (output !== undefined) await printValue(terminal, withoutManagedFields(now), output);
        return EXIT.ok;
      }
      await sleep(LOOK_MS, undefined, { signal: interrupt.signal }).catch(() => undefined);
    }
  } finally {
    interrupt.dispose();
  }
  terminal.note(`detached; the bridge goes on. To look again: ${say(`describe plan/${name}`)}`);
  return EXIT.interrupted;
}

/** As much of the execution as says where its Temporal is. */
function standIn(plan: DRPlan, name: string, uid: string): DRPlanExecution {
  const row = plan.status?.executionHistory?.find((one) => one.uid === uid);
  return {
    metadata: { name },
    spec: { planRef: plan.metadata.name, operationType: 'Execute' },
    ...(row?.temporal !== undefined && { status: { phase: 'Running', temporal: row.temporal } }),
  } as DRPlanExecution;
}
