import { accountUser } from '../../../api/plan/authority.js';
import { isObject } from '../../../api/core/json.js';
import { feedKey, needsTarget } from '../../../api/plan/actions/override-effect.js';
import type { OverrideSources } from '../../../api/plan/actions/override-effect.js';
import type { Problem } from '../../../api/core/problem.js';
import type { DRPlan, DRPlanExecution } from '../../../api/plan/types.js';
import { checkOverridePaths, writtenOverrides } from '../../../api/plan/validate/index.js';
import type { WrittenOverride } from '../../../api/plan/validate/index.js';
import { readOverrideSources } from '../../../kube/override-sources.js';
import { accountOf } from '../start/account.js';
import { Refused } from '../start/refused.js';
import type { DrDeps } from '../types.js';

/** Time for all reads of one review together; warnings that would come later are left out. */
const BUDGET_MS = 500;
/** Most feeds that are looked up for one review. */
const MAX_FEEDS = 20;

/**
 * Warns of JSON patches whose path does not exist in what is deployed now. It never refuses and never takes long: what
 * cannot be read in time is judged when the action runs. It reads as the account of the plan, which the requester must
 * be allowed to use: nobody learns more than they could through the plan.
 */
export async function overrideWarnings(
  {
    kube,
    caches,
    settings,
    log,
  }: Pick<DrDeps, 'kube' | 'caches' | 'log'> & {
    settings: Pick<DrDeps['settings'], 'defaultServiceAccount' | 'controllerIdentity'>;
  },
  plan: DRPlan,
  execution?: DRPlanExecution,
): Promise<Problem[]> {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort();
  }, BUDGET_MS);
  try {
    const written = writtenOverrides(plan, (at, name) => caches.workflows.get(at, name), execution);
    const wanted = new Map(
      written
        .filter(({ spec }) => isObject(spec.feed) && spec.feed.kind !== 'HelmChart' && needsTarget(spec))
        .map((one) => [keyOf(one), one]),
    );
    if (wanted.size === 0) return [];
    const { name, namespace = 'default' } = plan.metadata;
    const account = accountOf({ name, spec: plan.spec }, settings);
    const user = account === undefined ? undefined : accountUser(namespace, account);
    const client = user === undefined ? kube : kube.as({ user });
    const found = new Map<string, OverrideSources>();
    const read = async ([key, { kind, namespace: at, spec }]: [string, WrittenOverride]): Promise<void> => {
      const feed = spec.feed as Record<string, unknown>;
      const query = { kind, namespace: at, feed, target: true };
      const sources = await readOverrideSources(client, query, { signal: controller.signal });
      if (!controller.signal.aborted) found.set(key, sources);
    };
    // The signal ends a request that waits for its answer, but not all of what may come before it.
    const late = new Promise((resolve) => {
      controller.signal.addEventListener('abort', resolve, { once: true });
    });
    await Promise.race([Promise.allSettled([...wanted].slice(0, MAX_FEEDS).map(read)), late]);
    return checkOverridePaths(written, (one) => found.get(keyOf(one)));
  } catch (error) {
    if (!(error instanceof Refused)) log.debug({ err: error }, 'could not look at what overrides change');
    return [];
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

const keyOf = ({ kind, namespace, spec }: WrittenOverride): string =>
  JSON.stringify([kind, namespace, isObject(spec.feed) ? feedKey(spec.feed) : '']);
