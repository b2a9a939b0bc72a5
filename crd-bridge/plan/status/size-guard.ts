import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../../api/core/json.js';
import type { ActionDescriptor } from '../../../api/plan/actions/descriptor.js';
import { ACTIONS, findDescriptor } from '../../../api/plan/actions/table.js';
import { priorSecretName } from '../../../api/plan/naming.js';
import type {
  ActionOutputs,
  ActionStatus,
  ClusterActionStatus,
  DRPlanExecution,
  DRPlanExecutionStatus,
  StageStatus,
  WorkflowExecutionStatus,
} from '../../../api/plan/types.js';
import { originOf } from '../start/checks.js';

/** Above this a status is made smaller (S6.8). etcd takes 1.5 MiB, metadata included. */
export const MAX_STATUS_BYTES = 800 * 1024;
/** Above this even what a revert has to find out again is left out. */
export const MAX_STATUS_BYTES_WITH_OUTPUTS = 1024 * 1024;
const SHORT_MESSAGE = 120;

type Item = ActionStatus | ClusterActionStatus | WorkflowExecutionStatus | StageStatus;

/** One way of making a status smaller. */
interface Reduction {
  /** What a person misses afterwards; absent when it can be derived from what stays. */
  note?: string;
  /** Size above which it is needed, in bytes. */
  limit: number;
  item?: (item: Item) => Item;
  action?: (action: ActionStatus) => ActionStatus;
}

/** In this order. Phases, effects and ranks always stay: a revert needs them. */
const REDUCTIONS: readonly Reduction[] = [
  { note: 'response bodies', limit: MAX_STATUS_BYTES, action: withoutBulk },
  { note: 'the ends of long messages', limit: MAX_STATUS_BYTES, item: withShortMessage },
  { limit: MAX_STATUS_BYTES, item: without('duration', 'progress'), action: withoutRepeats },
  { note: 'all messages', limit: MAX_STATUS_BYTES, item: without('message') },
  { note: 'all outputs', limit: MAX_STATUS_BYTES_WITH_OUTPUTS, action: without('outputs') },
  { note: 'all reasons', limit: MAX_STATUS_BYTES_WITH_OUTPUTS, item: without('reason') },
];

/** The status, as much smaller as it takes to fit: response bodies go first, then messages, never phases. */
export function fitStatus(status: DRPlanExecutionStatus): DRPlanExecutionStatus {
  let fitted = status;
  const applied = new Set<Reduction>();
  for (const reduction of REDUCTIONS) {
    if (applied.size === 0 && sizeOf(fitted) <= MAX_STATUS_BYTES) return fitted;
    if (sizeOf(fitted) <= reduction.limit) continue;
    fitted = reduce(fitted, reduction);
    applied.add(reduction);
  }
  return withNote(fitted, applied);
}

/** The smallest status that still shows every phase: for one that the API server refused. */
export function smallestStatus(status: DRPlanExecutionStatus): DRPlanExecutionStatus {
  return withNote(REDUCTIONS.reduce(reduce, status), new Set(REDUCTIONS));
}

/**
 * Puts back what was left out of the status of an execution and can be derived. Outputs that are left out altogether
 * stay missing: see {@link hasLostOutputs}.
 */
export function expandStages(execution: DRPlanExecution): StageStatus[] {
  const { metadata, status } = execution;
  const { name: executionName } = metadata;
  const uid = originOf(execution) ?? metadata.uid ?? '';
  return mapActions(status?.stageStatuses ?? [], (action, at) => {
    if (action.outputs === undefined) return action;
    const { priorRef, created } = action.outputs;
    const outputs: ActionOutputs & Record<string, unknown> = { ...action.outputs };
    const key = findDescriptor(action.type)?.reference;
    if (created !== undefined && key !== undefined) {
      outputs.resourceRefs ??= created;
      const [only, ...others] = created;
      if (others.length === 0 && only !== undefined) outputs[key] ??= only;
    }
    if (priorRef !== undefined && /^(-|$)/.test(priorRef.name)) {
      const name = `${priorSecretName({ executionName, uid, at })}${priorRef.name}`;
      outputs.priorRef = { ...priorRef, name };
    }
    return { ...action, outputs };
  });
}

/**
 * Whether the outputs of an action are missing from its status: an undo then has to recognise what it wrote by the
 * marks on the objects and by the recorded prior state, as after an attempt without an answer.
 */
export const hasLostOutputs = (action: ActionStatus): boolean =>
  action.outputs === undefined && findDescriptor(action.type)?.operations !== undefined;

const sizeOf = (status: DRPlanExecutionStatus): number => Buffer.byteLength(JSON.stringify(status));

/** Notes what is missing, now or since an earlier time, and where it can be found. */
function withNote(status: DRPlanExecutionStatus, applied: ReadonlySet<Reduction>): DRPlanExecutionStatus {
  const notes = REDUCTIONS.flatMap((reduction) =>
    reduction.note !== undefined && (applied.has(reduction) || status.omitted?.includes(reduction.note))
      ? [reduction.note]
      : [],
  );
  if (notes.length === 0) return status;
  const run = status.temporal?.workflowId;
  return {
    ...status,
    omitted: `left out so that the object fits: ${notes.join(', ')}; Temporal has them${run === undefined ? '' : `, in the run "${run}" and its stages`}`,
  };
}

function reduce(status: DRPlanExecutionStatus, { item, action }: Reduction): DRPlanExecutionStatus {
  if (status.stageStatuses === undefined) return status;
  const each = <T extends Item>(one: T): T => (item === undefined ? one : (item(one) as T));
  const stages = mapActions(status.stageStatuses, (one) => {
    const reduced = each(action === undefined ? one : action(one));
    const { clusterStatuses } = reduced;
    return clusterStatuses === undefined
      ? reduced
      : { ...reduced, clusterStatuses: clusterStatuses.map(each) };
  });
  return {
    ...status,
    stageStatuses:
      item === undefined
        ? stages
        : stages.map((stage) => ({
            ...each(stage),
            ...(stage.workflowExecutions && { workflowExecutions: stage.workflowExecutions.map(each) }),
          })),
  };
}

function mapActions(
  stages: readonly StageStatus[],
  change: (action: ActionStatus, at: { stage: number; workflow: number; action: number }) => ActionStatus,
): StageStatus[] {
  return stages.map((stage, s) => ({
    ...stage,
    ...(stage.workflowExecutions && {
      workflowExecutions: stage.workflowExecutions.map((workflow, w) => ({
        ...workflow,
        ...(workflow.actionStatuses && {
          actionStatuses: workflow.actionStatuses.map((action, a) =>
            change(action, { stage: s, workflow: w, action: a }),
          ),
        }),
      })),
    }),
  }));
}

function without(...fields: string[]): <T extends object>(item: T) => T {
  return (item) =>
    fields.some((field) => field in item)
      ? (Object.fromEntries(Object.entries(item).filter(([field]) => !fields.includes(field))) as typeof item)
      : item;
}

/** What takes most room in the outputs of some types. */
const BULKS = Object.values<ActionDescriptor>(ACTIONS).flatMap(({ bulk }) =>
  bulk === undefined ? [] : [bulk],
);

function withoutBulk(action: ActionStatus): ActionStatus {
  const outputs: Record<string, unknown> = { ...action.outputs };
  const found = BULKS.filter(([name, field]) => {
    const output = outputs[name];
    return isObject(output) && output[field] !== undefined;
  });
  if (found.length === 0) return action;
  for (const [name, field] of found) outputs[name] = without(field)(outputs[name] as object);
  return { ...action, outputs };
}

function withShortMessage(item: Item): Item {
  return item.message === undefined || item.message.length <= SHORT_MESSAGE
    ? item
    : { ...item, message: `${item.message.slice(0, SHORT_MESSAGE - 1)}…` };
}

/**
 * Drops counts of zero, names that can be derived, and references that repeat `created`, which is what an undo relies
 * on.
 */
function withoutRepeats(full: ActionStatus): ActionStatus {
  const action = full.retryCount === 0 ? without('retryCount')(full) : full;
  if (action.outputs === undefined) return action;
  const { priorRef, created } = action.outputs;
  const outputs: ActionOutputs & Record<string, unknown> = { ...action.outputs };
  // Keeps only the digits of the name that cannot be derived; an earlier release wrote none.
  const [digits = ''] = /-[0-9a-f]{16}$/.exec(priorRef?.name ?? '') ?? [];
  if (priorRef !== undefined) outputs.priorRef = { ...priorRef, name: digits };
  const key = findDescriptor(action.type)?.reference;
  if (created !== undefined && key !== undefined) {
    if (isDeepStrictEqual(outputs.resourceRefs, created)) delete outputs.resourceRefs;
    if (created.length === 1 && isDeepStrictEqual(outputs[key], created[0])) delete outputs[key];
  }
  return { ...action, outputs };
}
