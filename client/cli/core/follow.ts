import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION } from '../../../api/core/group.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import { isRetryable, KubeError } from '../../../kube/error.js';

/** What following an execution tells. */
export type FollowEvent =
  | { kind: 'state'; execution: DRPlanExecution }
  /** It was deleted, or another one has its name now. */
  | { kind: 'deleted' }
  /** The API server does not answer; tried again until it does. */
  | { kind: 'unreachable'; message: string };

const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 5000;

/**
 * The states of one execution, from the present one on, until it is deleted or the signal aborts. Broken and expired
 * watches are opened again; an unreachable API server is told once for each outage.
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
  let pause = RETRY_MIN_MS;
  let isOut = false;

  while (!signal.aborted) {
    try {
      const list = await kube.list<DRPlanExecution>(type, selection);
      const present = list.items[0];
      uid ??= present?.metadata.uid;
      if (present === undefined || present.metadata.uid !== uid) {
        yield { kind: 'deleted' };
        return;
      }
      isOut = false;
      pause = RETRY_MIN_MS;
      if (present.metadata.resourceVersion !== lastVersion) {
        lastVersion = present.metadata.resourceVersion;
        yield { kind: 'state', execution: { apiVersion: API_VERSION, kind: type.kind, ...present } };
      }
      for await (const event of kube.watch<DRPlanExecution>(type, {
        ...selection,
        resourceVersion: list.metadata.resourceVersion,
      })) {
        if (event.type === 'BOOKMARK') continue;
        if (event.type === 'DELETED' || event.object.metadata.uid !== uid) {
          yield { kind: 'deleted' };
          return;
        }
        lastVersion = event.object.metadata.resourceVersion;
        yield { kind: 'state', execution: event.object };
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof KubeError) || !(isRetryable(error) || error.code === 410)) throw error;
      if (error.code === 410) continue;
      // A watch that breaks off is usual; only when the list fails too is the server out.
      if (!error.message.startsWith('watch broke off')) {
        if (!isOut) yield { kind: 'unreachable', message: error.message };
        isOut = true;
      }
      await sleep(pause, undefined, { signal }).catch(() => undefined);
      pause = Math.min(RETRY_MAX_MS, pause * 2);
    }
  }
}
