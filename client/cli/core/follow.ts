import { API_VERSION } from '../../../api/core/group.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import type { KubeError } from '../../../kube/error.js';
import { listAndWatch } from '../../../kube/list-and-watch.js';

/** What following an execution reports. */
export type FollowEvent =
  | { kind: 'state'; execution: DRPlanExecution }
  /** It was deleted, or another one has its name now. */
  | { kind: 'deleted' }
  /** The API server does not answer; tried again until it does. */
  | { kind: 'unreachable'; message: string };

/** First and longest wait before the API server is asked again after it failed. */
const BACKOFF = { minMs: 250, maxMs: 5000 };

/**
 * The states of one execution, from the present one on, until it is deleted or the signal aborts. Broken and expired
 * watches are opened again; an unreachable API server is reported once for each outage.
 *
 * @throws KubeError for what waiting does not mend, such as 403.
 */
export async function* follow(
  kube: KubeClient,
  key: { namespace: string; name: string; uid?: string },
  signal: AbortSignal,
): AsyncGenerator<FollowEvent> {
  const type = { apiVersion: API_VERSION, kind: 'DRPlanExecution' };
  const selection = { namespace: key.namespace, fieldSelector: `metadata.name=${key.name}`, signal };
  let uid = key.uid;
  let lastVersion: string | undefined;
  let isOut = false;
  const steps = listAndWatch({
    read: async () => {
      const { items, metadata } = await kube.list<DRPlanExecution>(type, selection);
      return { present: items[0], version: metadata.resourceVersion };
    },
    watch: (version) => kube.watch<DRPlanExecution>(type, { ...selection, resourceVersion: version }),
    backoff: BACKOFF,
    signal,
  });
  for await (const step of steps) {
    if (step.kind === 'failed') {
      // A watch that breaks off is usual; only when the list fails too is the server out.
      if (step.during === 'watch' || isOut) continue;
      isOut = true;
      yield { kind: 'unreachable', message: (step.error as KubeError).message };
      continue;
    }
    let found: DRPlanExecution | undefined;
    let isGone = false;
    if (step.kind === 'read') found = step.state.present;
    else {
      const { event } = step;
      if (event.type === 'BOOKMARK') continue;
      found = event.object;
      isGone = event.type === 'DELETED';
    }
    uid ??= found?.metadata.uid;
    if (isGone || found === undefined || found.metadata.uid !== uid) {
      yield { kind: 'deleted' };
      return;
    }
    isOut = false;
    if (found.metadata.resourceVersion === lastVersion) continue;
    lastVersion = found.metadata.resourceVersion;
    yield { kind: 'state', execution: { apiVersion: API_VERSION, kind: type.kind, ...found } };
  }
}
