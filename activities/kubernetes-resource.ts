import { keyOf } from '../kube/client.js';
import { KubeError } from '../kube/error.js';
import { definitionOf, locate, readManifest } from './documents.js';
import type { Attempt, AttemptResult, Handler } from './handler.js';
import { FINALIZER_WAIT_MS } from './object-action.js';
import type { ObjectHandlerOptions, OutputsOf } from './object-action.js';
import { carryOut, collision } from './object-effect.js';
import type { ObjectEffect, ObjectTask } from './object-effect.js';
import { createObjectHandler } from './object-handler.js';
import type { ObjectPlan, Rendered } from './object-handler.js';
import { operationOf } from './operations.js';

/**
 * KubernetesResource actions: one or several objects of any kind (seed: KubernetesResourceAction; plan semantics, §3).
 */
export function createKubernetesResourceHandler(options: Partial<ObjectHandlerOptions> = {}): Handler {
  const bounds = { finalizerWaitMs: options.finalizerWaitMs ?? FINALIZER_WAIT_MS };
  return createObjectHandler(
    {
      render,
      outputsOf: ({ tasks }) => outputsFor(tasks),
      obstacle: ({ tasks }, attempt) => findObstacle(tasks, attempt),
      async perform(task, tracked, { tasks }) {
        try {
          return await carryOut(task, tracked, bounds);
        } catch (error) {
          const early = definedJustNow(error, task, tasks);
          if (early === undefined) throw error;
          return early;
        }
      },
    },
    bounds,
  );
}

async function render({ action, scope, kube, task }: Attempt): Promise<Rendered<ObjectPlan>> {
  const { resource } = action;
  if (resource === undefined) {
    return {
      ok: false,
      reason: 'InvalidSpec',
      message: `action "${action.name}" has no block "resource"; write what it shall create or change`,
    };
  }
  const named = operationOf('KubernetesResource', resource.operation, scope);
  if (!named.ok) return named;
  const manifest = readManifest(resource.manifest, scope);
  if (!manifest.ok) return manifest;
  const located = await locate(kube, manifest.objects, task.run.namespace);
  if (!located.ok) return located;
  return {
    ok: true,
    tasks: located.objects.map((object) => ({
      operation: named.operation,
      object,
      force: resource.force,
    })),
  };
}

/** Of several objects none is created while another one is in the way: nothing is left half done. */
async function findObstacle(tasks: ObjectTask[], attempt: Attempt): Promise<AttemptResult | undefined> {
  if (tasks.length === 1) return undefined;
  for (const { operation, object } of tasks) {
    if (operation !== 'Create') continue;
    const key = keyOf(object);
    if (!(await isServed(attempt, key))) continue;
    const found = await attempt.kube.get(key, { signal: attempt.signal });
    const effect = found === undefined ? undefined : collision(found, key, attempt);
    if (effect?.kind === 'failed') return effect;
    if (effect?.kind === 'retry') return { ...effect, round: 'Unclear' };
  }
  return undefined;
}

/** A kind that the manifest itself defines is not served before it is applied. */
const isServed = (attempt: Attempt, key: { apiVersion: string; kind: string }): Promise<boolean> =>
  attempt.kube.resolve(key.apiVersion, key.kind).then(
    () => true,
    () => false,
  );

/** The API server takes a moment to serve a kind that the manifest itself has just defined. */
function definedJustNow(error: unknown, task: ObjectTask, tasks: ObjectTask[]): ObjectEffect | undefined {
  if (!(error instanceof KubeError) || error.reason !== 'KindNotFound') return undefined;
  const objects = tasks.map(({ object }) => object);
  if (definitionOf(task.object, objects) === undefined) return undefined;
  return { kind: 'retry', reason: 'KindNotFound', message: `${error.message} (not yet)`, effect: 'None' };
}

const outputsFor =
  (tasks: ObjectTask[]): OutputsOf =>
  (references, created) => ({
    ...(tasks.length === 1 && references[0] !== undefined && { resourceRef: references[0] }),
    resourceRefs: references,
    ...(created.length > 0 && { created }),
  });
