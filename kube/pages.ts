/** Lists page by page, by size and not by count: a page is held whole, and one object may be a thousand times another. */
import type { KubeClient, KubeList, ListOptions } from './client.js';
import { isTooLarge } from './error.js';

/** Bytes that a page is meant to have. */
const PAGE_BYTES = 2 * 1024 * 1024;
/** Bytes that a page of more than one object may have: the reading of one that has more is broken off. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** Before anything is known of their size. */
const FIRST_LIMIT = 16;
const MAX_LIMIT = 500;
/** One page of small objects does not say that the next has no large ones. */
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
  // Where a continued list begins the server knows; it refuses to be told once more.
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
