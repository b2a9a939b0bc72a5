import { isObject } from '../../../api/core/json.js';
import { renderString } from '../../../api/plan/template/render.js';
import { listClusters } from './clusternet.js';
import { globalizationSpec } from '../../../api/plan/actions/clusternet-body.js';
import { evaluateSelector } from '../../core/label-selector.js';
import type { ObjectHandlerOptions } from '../objects/object-action.js';
import type { ObjectHandler } from '../objects/object-handler.js';
import { createOverrideHandler } from './override-object.js';

/**
 * Globalization actions: overrides of what Clusternet deploys to many clusters (the original's GlobalizationAction).
 * The object has no namespace; without a clusterAffinity it changes what every cluster runs.
 */
export function createGlobalizationHandler(options: Partial<ObjectHandlerOptions> = {}): ObjectHandler {
  return createOverrideHandler(
    {
      kind: 'Globalization',
      outputs: 'globalizationRef',
      read({ action: { globalization: block }, scope }) {
        if (block === undefined) return undefined;
        return {
          operation: block.operation,
          name: renderString(block.name, scope),
          body: globalizationSpec(block, scope),
        };
      },
      async doubts({ spec }, { kube, signal }) {
        const affinity = isObject(spec) ? spec.clusterAffinity : undefined;
        if (affinity === undefined || affinity === null) return undefined;
        // An account that may not list clusters may still write Globalizations; this is only a hint.
        const clusters = await listClusters(kube, signal).catch(() => undefined);
        const matches = clusters?.some(({ metadata }) => {
          const selection = evaluateSelector(affinity, metadata.labels ?? {});
          return selection.ok && selection.matches;
        });
        return matches === false
          ? 'no ManagedCluster matches its clusterAffinity, so it changes nothing; correct the labels'
          : undefined;
      },
    },
    options,
  );
}
