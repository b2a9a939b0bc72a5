/**
 * Mode Delete: what a workflow does that does not define its own deletion (S1.20). Derived when the
 * snapshot is taken, so that status, retries and a revert follow what was run.
 */
import { blockOf, operationOf, perClusterOf } from './action-defaults.js';
import { findDescriptor } from './table.js';
import { hookOf, topologicalOrder } from '../order/hooks.js';
import { findPlaceholders } from '../template/placeholders.js';
import type { Action, DRWorkflowSpec } from '../types.js';
import { readsMode } from '../when/when.js';

/** A workflow as mode Delete runs it. */
export interface DeletingWorkflow {
  spec: DRWorkflowSpec;
  /** Names of actions in `spec` that are left out, as nothing says how they are taken back. */
  skipped: string[];
}

/** Whether a workflow says itself what is deleted: an action of a type whose deletion is derived deletes, or may. */
export const definesDelete = (spec: Pick<DRWorkflowSpec, 'actions'>): boolean =>
  spec.actions.some((action) => derivable(action) !== undefined && mayDelete(action));

/**
 * Derives the deletion from a workflow that does not define it. In this order: approvals, hooks before a Delete, the
 * deletions in reverse order, hooks after a Delete. What an action creates or applies whose type says so (the Clusternet
 * types) is deleted by an action `delete-<name>`. Actions that are written for a mode, and deletions, stay as
 * they are. The rest (HTTP, Job, a patch, …) is listed in `skipped`: running it forward would build up again what is to
 * be taken down.
 *
 * @returns undefined when the workflow defines its deletion: it runs as it is written
 */
export function deriveDeletion(spec: DRWorkflowSpec): DeletingWorkflow | undefined {
  if (definesDelete(spec)) return undefined;
  const { actions } = spec;
  const ordered = topologicalOrder(actions.map((action) => ({ ...action, hook: hookOf(action)?.position })))
    .map((index) => actions[index])
    .filter((action) => action !== undefined);
  const names = new Set(actions.map((action) => action.name));
  const skipped: string[] = [];
  const first: Action[] = [];
  const hooks: Action[] = [];
  const deletions: Action[] = [];
  for (const action of ordered) {
    const hook = hookOf(action);
    if (hook?.mode === 'Delete' || hook?.mode === 'Rollback') {
      hooks.push(alone(action));
    } else if (findDescriptor(action.type)?.deletion === 'first') {
      first.push(alone({ ...action, hookType: undefined }));
    } else {
      const deletion = deletionOf(action, names);
      if (deletion === undefined && !isKept(action)) skipped.push(action.name);
      deletions.unshift(deletion ?? alone(action));
    }
  }
  // The type of a hook decides its place, not the list.
  return { spec: { ...spec, actions: [...first, ...deletions, ...hooks] }, skipped };
}

/** Derived actions run in the order of the list. */
function alone({ dependsOn: _, ...action }: Action): Action {
  return action;
}

const isKept = (action: Action): boolean =>
  findDescriptor(action.type)?.deletion === 'kept' ||
  operationOf(action) === 'Delete' ||
  (action.when !== undefined && readsMode(action.when));

function deletionOf(action: Action, names: Set<string>): Action | undefined {
  const found = derivable(action);
  if (found === undefined || found.block.operation === 'Patch') return undefined;
  const { field, block } = found;
  const { type, timeout, totalTimeout, retryPolicy, interruptible, target, waitReady } = action;
  const { clusterExecutionMode, maxConcurrentClusters } = action;
  const name = uniqueName(`delete-${action.name}`, names);
  names.add(name);
  const deletion = {
    operation: 'Delete',
    name: block.name,
    ...(block.namespace !== undefined && { namespace: block.namespace }),
  };
  return {
    name,
    type,
    [field]: deletion,
    ...(timeout !== undefined && { timeout }),
    ...(totalTimeout !== undefined && { totalTimeout }),
    ...(retryPolicy !== undefined && { retryPolicy }),
    ...(interruptible !== undefined && { interruptible }),
    ...(target !== undefined && { target }),
    // What was written for each cluster by itself is found and deleted in the same way.
    ...(perClusterOf(action) !== undefined && { waitReady, clusterExecutionMode, maxConcurrentClusters }),
  };
}

function uniqueName(wanted: string, names: ReadonlySet<string>): string {
  let name = wanted;
  for (let count = 2; names.has(name); count += 1) name = `${wanted}-${count}`;
  return name;
}

interface Block {
  operation?: string;
  name?: unknown;
  namespace?: unknown;
}

/** The block of an action whose deletion is derived from it, and its field. */
function derivable(action: Action): { field: string; block: Block } | undefined {
  const descriptor = findDescriptor(action.type);
  const block = blockOf(action) as Block | undefined;
  if (descriptor?.deletion !== 'derived' || block === undefined) return undefined;
  return { field: descriptor.field, block };
}

/** A templated operation may become Delete: its author has provided for that. */
function mayDelete(action: Action): boolean {
  const operation = derivable(action)?.block.operation ?? '';
  return operation === 'Delete' || findPlaceholders(operation).placeholders.length > 0;
}
