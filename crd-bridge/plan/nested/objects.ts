/** The executions that nested plans run in: made, found and stopped under names that every replica derives alike. */
import { cancelAsked, CANCEL_VALUES } from '../../../api/core/cancel.js';
import { ANNOTATIONS, API_VERSION, FINALIZERS, LABELS } from '../../../api/core/group.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { labelValue, positionLabel, runWorkflowId } from '../../../api/plan/naming.js';
import type { Nesting } from '../../../api/plan/order/nesting.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecution, DRPlanExecutionSpec } from '../../../api/plan/types.js';
import { positionOf } from '../../../api/plan/undo/undo.js';
import { isAlreadyExists, isRetryable, KubeError } from '../../../kube/error.js';
import type { KubeObject } from '../../../kube/object.js';
import type { TraceContext } from '../../../api/core/trace-context.js';
import type { CancelRequest } from '../../../workflows/core/contract.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import type { ActionTask } from '../../../workflows/plan/contract-tasks.js';
import type { Sealer } from '../../../api/core/seal.js';
import { writeAdmissionStamp } from '../start/admission-stamp.js';
import { findPlan } from '../start/find-plan.js';
import { refOf } from '../../core/object-ref.js';
import type { CachedExecution, DrDeps } from '../types.js';
import type { BridgeVouching } from '../start/vouching.js';
import { mayRun } from './permission.js';
import type { Permission, PermissionDeps } from './permission.js';

/** What nested plans are built from. */
export type NestedDeps = Pick<DrDeps, 'writer' | 'runs' | 'log' | 'cluster' | 'sealer' | 'tracing'> &
  PermissionDeps & { vouching: BridgeVouching };

/** What becomes a nested execution. */
export interface NestedRequest {
  name: string;
  /** From `idempotencyKey`: an execution of that name is ours only if it carries it. */
  key: string;
  spec: DRPlanExecutionSpec;
}

/** Executions, as they are now: a cache may be behind, and one that was just made is looked for first. */
export interface NestedObjects {
  find(run: Pick<RunIdentity, 'namespace'>, name: string): Promise<CachedExecution | undefined>;
  /** Makes the execution, owned by the run's own; or returns why it may not be made. */
  create(task: ActionTask, request: NestedRequest): Promise<CachedExecution | Refusal>;
  /** Asks for its cancel; repeating that has no effect. With `force`, a rollback that it is in is aborted too. */
  cancel(run: RunIdentity, execution: CachedExecution, options: { force: boolean }): Promise<void>;
  /** Whether the run of a deleted execution still goes on, after asking it to end where that is wanted. */
  isOpen(
    run: RunIdentity,
    execution: { name: string; uid: string },
    options: { stop: boolean; force: boolean },
  ): Promise<boolean>;
  /** Uid of an execution of that name that its plan remembers. */
  remembered(run: RunIdentity, plan: string, name: string): Promise<string | undefined>;
}

/** Whether an execution was made for this effect of this run. */
export const isOurs = ({ metadata }: CachedExecution, run: RunIdentity, key: string): boolean =>
  metadata.annotations?.[ANNOTATIONS.key] === key &&
  metadata.ownerReferences?.some(({ uid }) => uid === run.uid) === true;

/** Nested executions over the API server and Temporal. */
export function createNestedObjects(deps: NestedDeps): NestedObjects {
  const { kube, caches, runs } = deps;
  const workflowIdOf = ({ namespace }: RunIdentity, { name, uid = '' }: { name: string; uid?: string }) =>
    runWorkflowId({ cluster: deps.cluster, namespace, name, uid });
  const find: NestedObjects['find'] = ({ namespace }, name) =>
    kube.get<CachedExecution>({ apiVersion: API_VERSION, kind: 'DRPlanExecution', namespace, name });

  return {
    find,
    async create(task, request) {
      const { run } = task;
      const parent = await find(run, run.name);
      const refusal = checkParent(run, parent);
      if (refusal !== undefined || parent === undefined) return refusal ?? executionGone(run);
      const permission = await mayRun(deps, run, parent, request.spec);
      if ('reason' in permission) return permission;
      try {
        const made = await kube.create<CachedExecution>(
          stampedExecution(deps.sealer, nestedExecution(task, request, permission, deps.tracing.current())),
        );
        caches.executions.learn(made);
        deps.events.record(parent, {
          type: 'Normal',
          reason: 'NestedExecutionCreated',
          action: 'Execute',
          message: `action "${task.name}" made execution "${request.name}": ${request.spec.operationType} of plan "${request.spec.planRef}"`,
          key: request.key,
        });
        return made;
      } catch (error) {
        if (isAlreadyExists(error)) {
          const found = await find(run, request.name);
          // It was deleted again at this very moment: the next look sees that.
          if (found === undefined) throw error;
          return isOurs(found, run, request.key) ? found : nameTaken(request.name);
        }
        if (!(error instanceof KubeError) || isRetryable(error)) throw error;
        return {
          reason: error.reason === '' ? 'Refused' : error.reason,
          message: `execution "${request.name}" could not be made: ${error.message}`,
        };
      }
    },
    async cancel(run, execution, { force }) {
      await deps.writer.metadata(caches.executions, refOf(execution), ({ metadata, status }) => {
        const { annotations } = metadata;
        if (cancelAsked(annotations) !== undefined || isTerminalExecution(status?.phase)) return undefined;
        return {
          annotations: {
            ...annotations,
            [ANNOTATIONS.cancel]: CANCEL_VALUES.cancel,
            [ANNOTATIONS.cancelRequestedBy]: `DRPlanExecution ${run.namespace}/${run.name}`,
          },
        };
      });
      // An annotation cannot force.
      if (force) await runs.signalCancel(workflowIdOf(run, execution.metadata), stopOf(run, force));
    },
    async isOpen(run, execution, { stop, force }) {
      const workflowId = workflowIdOf(run, execution);
      if ((await runs.describe(workflowId))?.state !== 'Running') return false;
      if (stop) await runs.signalCancel(workflowId, { ...stopOf(run, force), via: 'Delete' });
      return true;
    },
    async remembered(run, planName, name) {
      const plan = await findPlan(deps, run.namespace, planName);
      const row = plan?.status?.executionHistory?.find((candidate) => candidate.name === name);
      return row?.uid;
    },
  };
}

const stopOf = ({ namespace, name }: RunIdentity, force: boolean): CancelRequest => ({
  reason: `execution "${name}", which it is part of, was stopped`,
  requestedBy: `DRPlanExecution ${namespace}/${name}`,
  via: 'Signal',
  ...(force && { force }),
});

const executionGone = ({ name }: RunIdentity): Refusal => ({
  reason: 'ExecutionGone',
  message: `execution "${name}" is not there any more`,
});

/** Nothing new is made for a run whose execution has ended or is being deleted. */
function checkParent(run: RunIdentity, parent: DRPlanExecution | undefined): Refusal | undefined {
  if (parent === undefined || parent.metadata.uid !== run.uid) return executionGone(run);
  if (parent.metadata.deletionTimestamp !== undefined) {
    return { reason: 'ExecutionGone', message: `execution "${run.name}" is being deleted` };
  }
  if (isTerminalExecution(parent.status?.phase)) {
    return {
      reason: 'ExecutionEnded',
      message: `execution "${run.name}" is ${parent.status?.phase ?? ''} already`,
    };
  }
  return undefined;
}

/** The refusal to take somebody else's execution for one that was made here. */
export const nameTaken = (name: string): Refusal => ({
  reason: 'NameTaken',
  message: `there is an execution "${name}" already, which this action has not made; delete or rename it, then try again`,
});

/** The action that a nested execution belongs to. */
export function nestingOf({ run, at }: Pick<ActionTask, 'run' | 'at'>): Nesting {
  return {
    parent: { name: run.name, uid: run.uid },
    at: positionOf(at),
    plans: [...(run.nesting?.plans ?? []), run.plan.name],
  };
}

/** Admission does not review what the bridge makes, so the bridge stamps it itself. */
function stampedExecution(sealer: Sealer, execution: KubeObject): KubeObject {
  const { metadata } = execution;
  const { annotations = {}, namespace = '' } = metadata;
  const { requestedBy, requester, authorizedAs, admission } = ANNOTATIONS;
  const stamp = writeAdmissionStamp(sealer, execution, {
    namespace,
    requester: {
      [requestedBy]: annotations[requestedBy],
      [requester]: annotations[requester],
      [authorizedAs]: annotations[authorizedAs],
    },
    now: new Date(),
  });
  return {
    ...execution,
    metadata: {
      ...metadata,
      annotations: { ...annotations, [admission]: stamp },
      finalizers: [FINALIZERS.execution],
    },
  };
}

function nestedExecution(
  task: ActionTask,
  { name, key, spec }: NestedRequest,
  { stamps }: Permission,
  place: TraceContext | undefined,
): KubeObject {
  const { run, at } = task;
  return {
    apiVersion: API_VERSION,
    kind: 'DRPlanExecution',
    metadata: {
      name,
      namespace: run.namespace,
      labels: {
        [LABELS.plan]: labelValue(spec.planRef),
        [LABELS.execution]: labelValue(run.uid),
        [LABELS.action]: positionLabel(at),
      },
      annotations: {
        [ANNOTATIONS.key]: key,
        [ANNOTATIONS.nestedIn]: JSON.stringify(nestingOf(task)),
        ...stamps,
        ...(place !== undefined && { [ANNOTATIONS.traceparent]: place.traceparent }),
        // The requester of the whole is the requester of its parts.
        ...(run.requestedBy !== undefined && { [ANNOTATIONS.requestedBy]: run.requestedBy }),
      },
      ownerReferences: [
        {
          apiVersion: API_VERSION,
          kind: 'DRPlanExecution',
          name: run.name,
          uid: run.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec,
  };
}
