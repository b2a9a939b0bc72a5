import type { KindDescriptor } from '../../../../api/core/kind-descriptor.js';
import type { DRPolicy } from '../../../../api/plan/schema/policy.js';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../../../api/plan/types.js';
import type { KubeClient } from '../../../../kube/client.js';
import { anyKindOf, describeAny, getAny } from '../../core/any-kind.js';
import type { Cluster } from '../../core/cluster.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { asList, printValue, withoutManagedFields } from '../../core/output.js';
import type { OutputFormat } from '../../core/output-format.js';
import { type DescribeOptions, describeExecution } from '../render/describe-execution.js';
import { describePlan, describeWorkflow } from '../render/describe-plan.js';
import { keyFor, KINDS, notFound } from '../../core/resources.js';
import type { Kind, ObjectOf } from '../../core/resources.js';
import { describePolicy } from '../render/describe-policy.js';
import { openTemporal, temporalTarget, workflowIdOf } from '../../core/temporal.js';
import { nameOf } from '../../core/name-argument.js';

/** Kinds that a bare name may mean. Policies are not among them: not everybody may read those. */
const NAMED: readonly Kind[] = ['DRPlanExecution', 'DRPlan', 'DRWorkflow'];

/** Shows the objects that a name means. */
export async function describe(
  context: CommandContext,
  text: string,
  format: OutputFormat | undefined,
): Promise<number> {
  const other = text.includes('/') ? await anyKindOf(text.split('/', 1)[0] ?? '') : undefined;
  if (other !== undefined)
    return describeOther(context, other, { name: text.slice(text.indexOf('/') + 1), format });
  const { kind, name } = nameOf(text, KINDS);
  const cluster = await context.openCluster();
  const { kube, namespace } = cluster;
  const kinds = kind === undefined ? NAMED : [kind];
  const objects = (
    await Promise.all(kinds.map((each) => kube.get<ObjectOf[Kind]>(keyFor(each, namespace, name))))
  ).filter((object) => object !== undefined);
  if (objects.length === 0) throw await notFound(kube, kinds, { namespace, name, say: context.say });

  const { terminal } = context;
  if (format !== undefined) {
    const clean = objects.map(withoutManagedFields);
    await printValue(terminal, clean.length === 1 ? clean[0] : asList(clean), format);
    return EXIT.ok;
  }
  for (const [index, object] of objects.entries()) {
    if (index > 0) terminal.out('');
    for (const line of await describeObject(context, cluster, object)) terminal.out(line);
  }
  return EXIT.ok;
}

async function describeOther(
  context: CommandContext,
  kind: KindDescriptor,
  { name, format }: { name: string; format: OutputFormat | undefined },
): Promise<number> {
  const { kube, namespace } = await context.openCluster();
  const object = await getAny(kube, kind, { namespace, name, say: context.say });
  const { terminal } = context;
  if (format !== undefined) await printValue(terminal, withoutManagedFields(object), format);
  else {
    const options = { style: terminal.outStyle, now: context.now() };
    for (const line of describeAny(kind, object, options)) terminal.out(line);
  }
  return EXIT.ok;
}

async function describeObject(
  context: CommandContext,
  cluster: Cluster,
  object: ObjectOf[Kind],
): Promise<string[]> {
  const options: DescribeOptions = {
    style: context.terminal.outStyle,
    now: context.now(),
    width: context.terminal.width,
  };
  switch (object.kind as Kind) {
    case 'DRPlanExecution': {
      const execution = object as DRPlanExecution;
      const temporalUi = cluster.embedded?.endpoints.temporalUi ?? undefined;
      const temporalState = await stateInTemporal(context, cluster, execution);
      return describeExecution(execution, {
        ...options,
        ...(temporalUi !== undefined && { temporalUi }),
        ...(temporalState !== undefined && { temporalState }),
      });
    }
    case 'DRPlan': {
      const plan = object as DRPlan;
      return describePlan(plan, await workflowLookup(cluster.kube, plan), options);
    }
    case 'DRWorkflow':
      return describeWorkflow(object as DRWorkflow, options);
    case 'DRPolicy':
      return describePolicy(object as DRPolicy, options);
  }
}

async function workflowLookup(
  kube: KubeClient,
  plan: DRPlan,
): Promise<(reference: { name: string; namespace?: string }) => DRWorkflow | undefined> {
  const placeOf = (reference: { name: string; namespace?: string }): string =>
    `${reference.namespace ?? plan.metadata.namespace ?? 'default'}/${reference.name}`;
  const places = new Set(
    plan.spec.stages.flatMap((stage) => stage.workflows.map(({ workflowRef }) => placeOf(workflowRef))),
  );
  const found = new Map<string, DRWorkflow>();
  await Promise.all(
    [...places].map(async (place) => {
      const [namespace = '', name = ''] = place.split('/');
      const workflow = await kube.get<DRWorkflow>(keyFor('DRWorkflow', namespace, name));
      if (workflow !== undefined) found.set(place, workflow);
    }),
  );
  return (reference) => found.get(placeOf(reference));
}

/** For a run that goes on: whether Temporal agrees, and whether somebody works on it. */
async function stateInTemporal(
  context: CommandContext,
  cluster: Cluster,
  execution: DRPlanExecution,
): Promise<string | undefined> {
  const { status } = execution;
  if (isTerminalExecution(status?.phase) || status?.temporal === undefined) return undefined;
  if (temporalTarget(context, cluster, execution.status?.temporal?.namespace) === undefined) return undefined;
  try {
    const temporal = await openTemporal(context, cluster, execution);
    try {
      const run = await temporal.runs.describe(workflowIdOf(execution));
      if (run === undefined) return `${temporal.address} does not know this run`;
      const waiting =
        run.waiting === undefined ? '' : `, waits for a worker since ${run.waiting.since.toISOString()}`;
      const failing = run.failing === undefined ? '' : `, its code fails: ${run.failing.message}`;
      return `${run.state}${waiting}${failing}`;
    } finally {
      await temporal.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
