import type { ObjectReference } from '../../../api/plan/types.js';
import { keyOf } from '../../../kube/client.js';
import type { KubeObject } from '../../../kube/object.js';
import { definitionOf, inOrder, isKindNotFound, locate, readManifest } from './documents.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { FINALIZER_WAIT_MS } from './object-action.js';
import type { ObjectHandlerOptions, OutputsOf } from './object-action.js';
import { carryOut, collision } from './object-effect.js';
import type { ObjectEffect } from './object-effect.js';
import type { ObjectTask } from '../../core/object-task.js';
import { createObjectHandler } from './object-handler.js';
import type { ObjectHandler } from './object-handler.js';
import type { ObjectPlan, Rendered } from './object-handler.js';
import { isSameKey, keyIn, lookUp } from '../../core/objects.js';
import { operationOf } from './operations.js';
import { awaitServed } from './served.js';

/**
 * KubernetesResource actions: one or several objects of any kind (in the original: KubernetesResourceAction;
 * docs/semantics.md#kubernetesresource).
 */
export function createKubernetesResourceHandler(options: Partial<ObjectHandlerOptions> = {}): ObjectHandler {
  const bounds = { finalizerWaitMs: options.finalizerWaitMs ?? FINALIZER_WAIT_MS };
  return createObjectHandler<Plan>(
    {
      render,
      outputsOf: ({ written }) => outputsFor(written),
      obstacle: ({ tasks }, attempt) => findObstacle(tasks, attempt),
      async perform(task, tracked, { written }) {
        try {
          const effect = await carryOut(task, tracked, bounds);
          return (await awaitServed(task, effect, tracked)) ?? effect;
        } catch (error) {
          const early = definedJustNow(error, task, written);
          if (early === undefined) throw error;
          return early;
        }
      },
    },
    bounds,
  );
}

interface Plan extends ObjectPlan {
  /** The objects as they stand in the manifest; they are written in an order of their own. */
  written: KubeObject[];
}

async function render({ action, scope, kube, task, defined }: Attempt): Promise<Rendered<Plan>> {
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
  const { operation } = named;
  const manifest = readManifest(resource.manifest, scope);
  if (!manifest.ok) return manifest;
  const { namespace } = task.run;
  const located = await locate(kube, manifest.objects, { namespace, defined });
  if (!located.ok) return located;
  const { force, patchType, fieldValidation } = resource;
  return {
    ok: true,
    written: located.objects,
    tasks: inOrder(operation, located.objects).map((object) => ({
      operation,
      object,
      force,
      patchType,
      fieldValidation,
    })),
  };
}

/** Of several objects none is created while another one is in the way: nothing is left half done. */
async function findObstacle(tasks: ObjectTask[], attempt: Attempt): Promise<AttemptResult | undefined> {
  if (tasks.length === 1) return undefined;
  for (const { operation, object } of tasks) {
    if (operation !== 'Create') continue;
    const key = keyOf(object);
    // A kind that the manifest itself defines is not served before it is applied.
    const found = await lookUp(attempt.kube, key, attempt.signal);
    const effect = found === undefined ? undefined : collision(found, key, attempt);
    if (effect?.kind === 'failed') return effect;
    if (effect?.kind === 'retry') return { ...effect, round: 'Unclear' };
  }
  return undefined;
}

/** A definition that was served a moment ago may not be so by every API server of the cluster. */
function definedJustNow(error: unknown, task: ObjectTask, written: KubeObject[]): ObjectEffect | undefined {
  if (!isKindNotFound(error) || definitionOf(task.object, written) === undefined) return undefined;
  return { kind: 'retry', reason: 'KindNotFound', message: `${error.message} (not yet)`, effect: 'None' };
}

/** References stand in the order of the manifest, whatever was written first. */
function outputsFor(written: KubeObject[]): OutputsOf {
  const keys = written.map(keyOf);
  const place = (reference: ObjectReference): number => {
    const key = keyIn(reference);
    return key === undefined ? -1 : keys.findIndex((one) => isSameKey(one, key));
  };
  return (references, created) => {
    const resourceRefs = [...references].sort((a, b) => place(a) - place(b));
    const [first] = resourceRefs;
    return {
      ...(written.length === 1 && first !== undefined && { resourceRef: first }),
      resourceRefs,
      ...(created.length > 0 && { created }),
    };
  };
}
