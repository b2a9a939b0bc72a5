import type { KubeClient } from '../../kube/client.js';
import type { KubeObject, ObjectKey } from '../../kube/object.js';
import { observe } from '../../kube/observe.js';

/** How a wait for an object's removal ended. */
export type Gone = { gone: true } | { gone: false; left: KubeObject };

/**
 * Waits until the object of this uid is gone; another one of the same name does not count.
 *
 * @throws the reason of the signal
 */
export async function waitUntilGone(
  kube: KubeClient,
  object: { key: ObjectKey; uid: string },
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<Gone> {
  const { key, uid } = object;
  let left: KubeObject | undefined;
  const gone = await observe(
    kube,
    { object: { apiVersion: key.apiVersion, kind: key.kind, namespace: key.namespace, name: key.name } },
    (state) => {
      left = state.object.find((found) => found.metadata.uid === uid);
      return left === undefined ? true : undefined;
    },
    options,
  );
  if (gone === true) return { gone: true };
  // The time may have been up before the first answer came.
  left ??= await kube.get(key, { signal: options.signal });
  return left?.metadata.uid === uid ? { gone: false, left } : { gone: true };
}
