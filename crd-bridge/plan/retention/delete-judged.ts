import type { KubeClient } from '../../../kube/client.js';
import { isConflict } from '../../../kube/error.js';
import type { KubeMeta } from '../../../kube/object.js';

/**
 * Deletes an object if it still is the very object and version that was judged.
 *
 * @returns false when it has changed, is another one, or is gone
 */
export async function deleteJudged(
  kube: Pick<KubeClient, 'delete'>,
  type: { apiVersion: string; kind: string },
  { name, namespace, uid, resourceVersion }: Pick<KubeMeta, 'name' | 'namespace' | 'resourceVersion' | 'uid'>,
): Promise<boolean> {
  if (uid === undefined || resourceVersion === undefined) return false;
  try {
    return await kube.delete(
      { ...type, name, ...(namespace !== undefined && { namespace }) },
      { uid, resourceVersion, propagationPolicy: 'Background' },
    );
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}
