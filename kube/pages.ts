/**
 * Lists page by page, sized by bytes and not by count: a page is held whole, and one object may be a thousand times as
 * large as another.
 */
import type { KubeClient, KubeList, ListOptions } from './client.js';
import { isTooLarge } from './error.js';

/** Size that a page is meant to have, in bytes. */
const PAGE_BYTES = 2 * 1024 * 1024;
/** Largest size of a page of more than one object, in bytes: the reading of a larger one is broken off. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** Objects of the first page: nothing is known of their size yet. */
const FIRST_LIMIT = 16;
const MAX_LIMIT = 500;
/** A limit grows by this factor at most: after a page of small objects the next may have large ones. */
const GROWTH = 4;

/**
 * The pages of a list, in order. The first is small; each further one is asked for by the size of what came before it, and
 * one that is too large after all is asked for again in parts.
 *
 * @throws KubeError, 410 when the list took longer than the server keeps its state for
 */
export async function* listPages<T>(
  kube: Pick<KubeClient, 'list'>,
  type: { apiVersion: string; kind: string },
  options: Omit<ListOptions, 'limit' | 'continue' | 'maxBytes'> = {},
): AsyncGenerator<KubeList<T>> {
  // The server knows where a continued list begins, and refuses a request that states it again.
  const { resourceVersion, resourceVersionMatch, ...rest } = options;
  const from = {
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(resourceVersionMatch !== undefined && { resourceVersionMatch }),
  };
  let limit = FIRST_LIMIT;
  let next: string | undefined;
  for (;;) {
    let page: KubeList<T>;
    try {
      page = await kube.list<T>(type, {
        ...rest,
        limit,
        ...(limit > 1 && { maxBytes: MAX_PAGE_BYTES }),
        ...(next === undefined ? from : { continue: next }),
      });
    } catch (error) {
      if (!isTooLarge(error) || limit === 1) throw error;
      limit = Math.max(1, Math.floor(limit / GROWTH));
      continue;
    }
    yield page;
    next = page.metadata.continue || undefined;
    limit = nextLimit(limit, { count: page.items.length, bytes: page.bytes });
    if (next === undefined) return;
  }
}

/**
 * How many objects to ask for next.
 *
 * @param page what came for the last limit; without bytes nothing is known of their size
 */
export function nextLimit(limit: number, page: { count: number; bytes?: number | undefined }): number {
  const { count, bytes } = page;
  if (count === 0 || bytes === undefined || bytes === 0) return limit;
  const fitting = Math.floor((PAGE_BYTES * count) / bytes);
  return Math.max(1, Math.min(fitting, limit * GROWTH, MAX_LIMIT));
}
