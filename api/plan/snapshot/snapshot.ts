/**
 * What a run executes, as it was when the run started: later edits of plan and workflows do not touch it, and a revert
 * needs nothing else (S5.3).
 */
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { managesFields } from '../actions/action-defaults.js';
import { deriveDeletion } from '../actions/delete-mode.js';
import { modeText } from '../order/hooks.js';
import type { Mode } from '../order/hooks.js';
import { canonicalJson, isObject } from '../../core/json.js';
import { managerDigest } from '../naming.js';
import { mergeParameters } from '../template/parameters.js';
import type { MergedParameters } from '../template/parameters.js';
import type { Problem } from '../../core/problem.js';
import { mentionsOf, valuesUsed } from '../template/references.js';
import type { Mention } from '../template/references.js';
import type { ActionAddress, ActionBody } from './run.js';
import type {
  Action,
  DRPlan,
  DRPlanExecution,
  DRPlanSpec,
  DRWorkflow,
  DRWorkflowSpec,
  Parameter,
  Scalar,
} from '../types.js';

/** A workflow as it was at the start. */
export interface WorkflowSnapshot {
  uid: string;
  generation: number;
  /** In mode Delete of a workflow that defines no deletion: what was derived from it. */
  spec: DRWorkflowSpec;
  /** Mode Delete: actions that are left out. */
  skipped?: string[];
}

/** A value that was taken from an object before the start. */
export interface ResolvedValue {
  /** Of the parameter. */
  path: string;
  name: string;
  /** The object and the field. */
  from: string;
  uid?: string;
  resourceVersion?: string;
}

/** Plan, workflows and parameters of a run. */
export interface Snapshot {
  plan: { name: string; namespace: string; uid: string; generation: number; spec: DRPlanSpec };
  /** By {@link workflowKey}. */
  workflows: Record<string, WorkflowSnapshot>;
  /** Parameters of the execution; win over all others. */
  params: Parameter[];
  /** Where values of parameters were taken from; they are plain values in this snapshot. */
  resolved?: ResolvedValue[];
  operation: 'Execute' | 'Revert';
  mode?: Mode;
  runMode: string;
}

/** Content of one ControllerRevision's `data`. */
export type SnapshotPart =
  | { encoding: 'json'; snapshot: unknown }
  | { encoding: 'gzip'; index: number; total: number; data: string };

/** Largest snapshot, as canonical JSON, that a run may have (S5.20). */
export const MAX_SNAPSHOT_BYTES = 8 * 1024 * 1024;
/** From here on a snapshot is stored compressed. */
const MAX_PLAIN_BYTES = 256 * 1024;
/** Well below the 1.5 MiB that etcd takes for one object. */
const MAX_PART_CHARACTERS = 900 * 1024;

/** Key of a workflow in a snapshot: `<namespace>/<name>`. */
export function workflowKey(ref: { name: string; namespace: string }): string {
  return `${ref.namespace}/${ref.name}`;
}

/** Puts a snapshot together. `lookup` finds the workflows that the plan refers to; the missing ones are listed. */
export function takeSnapshot(input: {
  plan: DRPlan;
  execution: DRPlanExecution;
  lookup: (namespace: string, name: string) => DRWorkflow | undefined;
}): { snapshot: Snapshot; missing: string[] } {
  const { plan, execution, lookup } = input;
  const planNamespace = plan.metadata.namespace ?? execution.metadata.namespace ?? 'default';
  const workflows: Record<string, WorkflowSnapshot> = {};
  const missing = new Set<string>();
  for (const stage of plan.spec.stages) {
    for (const { workflowRef } of stage.workflows) {
      const namespace = workflowRef.namespace || planNamespace;
      const key = workflowKey({ name: workflowRef.name, namespace });
      const found = lookup(namespace, workflowRef.name);
      if (found === undefined) {
        missing.add(key);
      } else {
        workflows[key] = {
          uid: found.metadata.uid ?? '',
          generation: found.metadata.generation ?? 0,
          ...(execution.spec.mode === 'Delete' ? deletingOf(found.spec) : { spec: found.spec }),
        };
      }
    }
  }
  const snapshot: Snapshot = {
    plan: {
      name: plan.metadata.name,
      namespace: planNamespace,
      uid: plan.metadata.uid ?? '',
      generation: plan.metadata.generation ?? 0,
      spec: plan.spec,
    },
    workflows,
    params: [
      ...(execution.spec.params ?? []),
      // As with the original, a mode is a parameter too.
      ...(execution.spec.mode === undefined ? [] : [{ name: 'mode', value: modeText(execution.spec.mode) }]),
    ],
    operation: execution.spec.operationType,
    ...(execution.spec.mode === undefined ? {} : { mode: execution.spec.mode }),
    runMode: execution.spec.runMode ?? 'Planned',
  };
  return { snapshot, missing: [...missing] };
}

function deletingOf(spec: DRWorkflowSpec): Pick<WorkflowSnapshot, 'spec' | 'skipped'> {
  const derived = deriveDeletion(spec);
  if (derived === undefined) return { spec };
  return derived.skipped.length > 0 ? derived : { spec: derived.spec };
}

const digestOf = (json: string): string => createHash('sha256').update(json).digest('hex');

/**
 * Splits a snapshot into parts that each fit a ControllerRevision. Small ones stay readable; from 256 KiB on they are
 * compressed.
 *
 * @returns the parts, or a problem `SnapshotTooLarge` above {@link MAX_SNAPSHOT_BYTES}
 */
export function encodeSnapshot(
  snapshot: Snapshot,
): { ok: true; digest: string; parts: SnapshotPart[] } | { ok: false; problem: Problem } {
  const json = canonicalJson(snapshot);
  const size = Buffer.byteLength(json);
  if (size > MAX_SNAPSHOT_BYTES) {
    return {
      ok: false,
      problem: {
        severity: 'error',
        path: '',
        reason: 'SnapshotTooLarge',
        message:
          `plan "${snapshot.plan.name}" with its workflows and parameters takes ${mebibytes(size)} MiB; ` +
          `a run may have ${mebibytes(MAX_SNAPSHOT_BYTES)} MiB: move large manifests or bodies out of the workflows, or split the plan`,
      },
    };
  }
  const digest = digestOf(json);
  if (size <= MAX_PLAIN_BYTES) {
    return { ok: true, digest, parts: [{ encoding: 'json', snapshot: JSON.parse(json) as unknown }] };
  }
  const text = gzipSync(json).toString('base64');
  const total = Math.ceil(text.length / MAX_PART_CHARACTERS);
  const parts = Array.from({ length: total }, (_, index): SnapshotPart => {
    const data = text.slice(index * MAX_PART_CHARACTERS, (index + 1) * MAX_PART_CHARACTERS);
    return { encoding: 'gzip', index, total, data };
  });
  return { ok: true, digest, parts };
}

const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(1);

/**
 * Puts parts together again, in any order.
 *
 * @throws Error when a part is missing or unreadable, or when the content does not have the digest
 */
export function decodeSnapshot(parts: readonly unknown[], digest: string): Snapshot {
  const json = joinParts(parts);
  const found = digestOf(json);
  if (found !== digest) {
    throw new Error(
      `snapshot has SHA-256 ${found}, recorded is ${digest}: its ControllerRevision was changed or belongs to another run`,
    );
  }
  return JSON.parse(json) as Snapshot;
}

function joinParts(parts: readonly unknown[]): string {
  const [first] = parts;
  if (isObject(first) && first.encoding === 'json') return canonicalJson(first.snapshot);
  const ordered: string[] = [];
  let total = 1;
  for (const part of parts) {
    if (!isObject(part) || part.encoding !== 'gzip' || typeof part.data !== 'string') {
      throw new Error('snapshot part is unreadable: expected encoding "json" or "gzip" with its data');
    }
    total = Number(part.total);
    ordered[Number(part.index)] = part.data;
  }
  const present = ordered.filter((data) => data !== undefined).length;
  if (present !== total) throw new Error(`snapshot has ${present} of ${total} parts`);
  // The limit bounds what a tampered part can inflate to.
  return gunzipSync(Buffer.from(ordered.join(''), 'base64'), {
    maxOutputLength: MAX_SNAPSHOT_BYTES,
  }).toString('utf8');
}

/** Namespace and name of the workflow that is used at a position. */
export function workflowAt(
  snapshot: Snapshot,
  at: { stage: number; workflow: number },
): { name: string; namespace: string } | undefined {
  const ref = snapshot.plan.spec.stages[at.stage]?.workflows[at.workflow]?.workflowRef;
  return ref && { name: ref.name, namespace: ref.namespace || snapshot.plan.namespace };
}

/** Merges the parameters of the workflow that is used at a position (S2.1). */
export function parametersAt(snapshot: Snapshot, at: { stage: number; workflow: number }): MergedParameters {
  const { stages, globalParams } = snapshot.plan.spec;
  const ref = workflowAt(snapshot, at);
  const key = ref === undefined ? '' : workflowKey(ref);
  const use = `spec.stages[${at.stage}].workflows[${at.workflow}]`;
  return mergeParameters(
    {
      workflow: snapshot.workflows[key]?.spec.parameters ?? [],
      plan: globalParams ?? [],
      stage: stages[at.stage]?.workflows[at.workflow]?.params ?? [],
      execution: snapshot.params,
    },
    {
      at: 'start',
      paths: {
        workflow: `${use}.workflowRef(${key}).spec.parameters`,
        plan: 'plan.spec.globalParams',
        stage: `${use}.params`,
        execution: 'execution.spec.params',
      },
    },
  );
}

/** An action at a position, with those of the parameters that it, its `when` or its custom rollback uses. */
export function bodyOf(
  snapshot: Snapshot,
  at: { stage: number; workflow: number },
  action: Action,
  values: Readonly<Record<string, Scalar>>,
  mentions: readonly Mention[] = mentionsOf(action, ''),
): ActionBody {
  return {
    action,
    params: valuesUsed(mentions, values),
    ...(managesFields(action) && { manager: managerAt(snapshot, at, action.name) }),
  };
}

/** Merges the parameters that conditions of stages see: those of the plan and of the execution. */
export const stageParameters = (snapshot: Snapshot): MergedParameters =>
  mergeParameters(
    { workflow: [], plan: snapshot.plan.spec.globalParams ?? [], execution: snapshot.params },
    { at: 'start', paths: { plan: 'plan.spec.globalParams', execution: 'execution.spec.params' } },
  );

/** What the field manager of an action ends in: names, not positions, so that it outlives changes around the action. */
export function managerAt(
  snapshot: Snapshot,
  at: { stage: number; workflow: number },
  action: string,
): string {
  const { namespace, name } = snapshot.plan;
  const used = workflowAt(snapshot, at);
  const earlier = Array.from({ length: at.workflow }, (_, workflow) =>
    workflowAt(snapshot, { stage: at.stage, workflow }),
  );
  const use = earlier.filter((ref) => ref?.name === used?.name && ref?.namespace === used?.namespace).length;
  return managerDigest({
    plan: { namespace, name },
    stage: snapshot.plan.spec.stages[at.stage]?.name ?? '',
    workflow: { namespace: used?.namespace ?? '', name: used?.name ?? '', use },
    action,
  });
}

/**
 * The action at a position with its parameters: what a run carries inline, or an activity works out for itself from the
 * snapshot.
 *
 * @throws Error when the snapshot has no such action: it is not the snapshot of this run
 */
export function resolveBody(snapshot: Snapshot, at: ActionAddress): ActionBody {
  const ref = workflowAt(snapshot, at);
  const action = ref && snapshot.workflows[workflowKey(ref)]?.spec.actions[at.action];
  if (action === undefined) {
    throw new Error(
      `snapshot of plan "${snapshot.plan.name}" has no action at ${at.stage}/${at.workflow}/${at.action}`,
    );
  }
  return bodyOf(snapshot, at, action, parametersAt(snapshot, at).values);
}
