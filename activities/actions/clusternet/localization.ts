import { renderString } from '../../../api/plan/template/render.js';
import { CLUSTERS } from './clusternet.js';
import { localizationSpec } from '../../../api/plan/actions/clusternet-body.js';
import type { ObjectHandlerOptions } from '../objects/object-action.js';
import type { ObjectHandler } from '../objects/object-handler.js';
import { createOverrideHandler } from './override-object.js';

/**
 * Localization actions: overrides of what Clusternet deploys to one cluster (in the original: LocalizationAction;
 * S3.31, S3.32).
 */
export function createLocalizationHandler(options: Partial<ObjectHandlerOptions> = {}): ObjectHandler {
  return createOverrideHandler(
    {
      kind: 'Localization',
      outputs: 'localizationRef',
      read({ action: { localization: block }, scope }) {
        if (block === undefined) return undefined;
        return {
          operation: block.operation,
          name: renderString(block.name, scope),
          namespace: renderString(block.namespace, scope),
          body: localizationSpec(block, scope),
        };
      },
      async doubts({ metadata: { namespace = '' } }, { kube }) {
        const clusters = await kube
          .list({ apiVersion: CLUSTERS, kind: 'ManagedCluster' }, { namespace, limit: 1 })
          // An account that may not list clusters may still write Localizations; this is only a hint.
          .catch(() => undefined);
        return clusters?.items.length === 0
          ? `no ManagedCluster is in namespace ${namespace}, so it changes nothing; a Localization belongs into the namespace of its cluster`
          : undefined;
      },
    },
    options,
  );
}
