import { isObject } from '../../../../api/core/json.js';
import { errorsOf } from '../../../../api/core/problem.js';
import { feedKey, needsTarget } from '../../../../api/plan/actions/override-effect.js';
import type { OverrideSources } from '../../../../api/plan/actions/override-effect.js';
import type { DRPlan } from '../../../../api/plan/types.js';
import { validatePlan, writtenOverrides } from '../../../../api/plan/validate/index.js';
import type { WorkflowLookup, WrittenOverride } from '../../../../api/plan/validate/index.js';
import type { KubeClient } from '../../../../kube/client.js';
import { KubeError } from '../../../../kube/error.js';
import { readOverrideSources } from '../../../../kube/override-sources.js';
import type { SourcesOf } from './override-sources.js';

/** Feeds that are looked up for one command. */
const MAX_FEEDS = 200;
const FEED_TIMEOUT_MS = 10_000;

/** What a cluster has about the feeds of the overrides that plans write. */
export async function findOverrideSources(
  kube: KubeClient,
  plans: readonly DRPlan[],
  workflow: WorkflowLookup,
): Promise<SourcesOf> {
  const wanted = new Map<string, WrittenOverride>();
  for (const plan of plans) {
    if (errorsOf(validatePlan(plan, workflow)).length > 0) continue;
    for (const override of writtenOverrides(plan, workflow)) {
      const { feed } = override.spec;
      const matters = isObject(feed) && feed.kind !== 'HelmChart' && needsTarget(override.spec);
      if (matters) wanted.set(sourceKey(override), override);
    }
  }
  const found = new Map<string, OverrideSources>();
  for (const [key, { kind, namespace, spec }] of [...wanted].slice(0, MAX_FEEDS)) {
    const query = { kind, namespace, feed: spec.feed as Record<string, unknown>, target: true };
    const signal = AbortSignal.timeout(FEED_TIMEOUT_MS);
    // Who may read plans need not be allowed to read this; it is judged again when the action runs.
    const read = await readOverrideSources(kube, query, { signal }).catch((error: unknown) => {
      if (signal.aborted || error instanceof KubeError) return undefined;
      throw error;
    });
    if (read !== undefined) found.set(key, read);
  }
  return (override) => found.get(sourceKey(override));
}

const sourceKey = ({ kind, namespace, spec }: WrittenOverride): string =>
  JSON.stringify([kind, namespace, isObject(spec.feed) ? feedKey(spec.feed) : '']);
