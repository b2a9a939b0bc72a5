import type { KubeClient } from '../../../kube/client.js';

const PAGE = 500;

/**
 * All objects of a kind, in a namespace or (undefined) in all. The items of a list come without apiVersion and kind; they
 * are added.
 */
export async function listAll<T extends object>(
  kube: KubeClient,
  type: { apiVersion: string; kind: string },
  namespace: string | undefined,
): Promise<(T & { apiVersion: string; kind: string })[]> {
  const items: (T & { apiVersion: string; kind: string })[] = [];
  let next: string | undefined;
  do {
    const page = await kube.list<T>(type, {
      limit: PAGE,
      ...(namespace !== undefined && { namespace }),
      ...(next !== undefined && { continue: next }),
    });
    items.push(...page.items.map((item) => ({ ...type, ...item })));
    next = page.metadata.continue || undefined;
  } while (next !== undefined);
  return items;
}
