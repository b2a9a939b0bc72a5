/** What the API server has been asked, from its own counters. */
import type { KubeClient } from '../../kube/client.js';

/** Counters by `VERB resource` or `VERB resource/subresource`. */
export interface ApiCounters {
  requests: Map<string, number>;
  /** Bytes of request bodies, by resource. */
  bodyBytes: Map<string, number>;
}

const MAX_BYTES = 64 << 20;
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'DELETECOLLECTION']);
/** What the control plane writes by itself, however many runs there are. */
const BACKGROUND = new Set(['leases', 'nodes', 'nodes/status', 'apiservices', 'apiservices/status']);

/** Reads the counters. @throws KubeError when this account may not */
export async function readApiCounters(kube: KubeClient): Promise<ApiCounters> {
  const text = await kube.text(
    { method: 'GET', path: '/metrics', headers: { accept: 'text/plain' }, timeoutMs: 60_000 },
    MAX_BYTES,
  );
  return parseApiCounters(text);
}

/** Takes the counters out of the API server's metrics page. */
export function parseApiCounters(text: string): ApiCounters {
  const counters: ApiCounters = { requests: new Map(), bodyBytes: new Map() };
  const add = (map: Map<string, number>, key: string, value: number): void => {
    map.set(key, (map.get(key) ?? 0) + value);
  };
  for (const line of text.split('\n')) {
    const total = line.startsWith('apiserver_request_total{');
    if (!total && !line.startsWith('apiserver_request_body_size_bytes_sum{')) continue;
    const end = line.lastIndexOf('}');
    const labels = labelsOf(line.slice(line.indexOf('{') + 1, end));
    const value = Number(line.slice(end + 1));
    const { resource = '', subresource = '', verb = '' } = labels;
    if (resource === '') continue;
    if (total)
      add(counters.requests, `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`, value);
    else add(counters.bodyBytes, resource, value);
  }
  return counters;
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}

/** What was added between two readings; what did not change is left out. */
export function difference(
  after: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, number>,
): Map<string, number> {
  return new Map(
    [...after].flatMap(([key, value]) => {
      const more = value - (before.get(key) ?? 0);
      return more === 0 ? [] : [[key, more] as const];
    }),
  );
}

/** What kind of request a counter stands for. */
export type RequestClass = 'write' | 'event' | 'review' | 'read' | 'background';

/**
 * Sorts a counter: a write changes an object, an Event is one that tells of it, a review asks whether somebody may do
 * something and changes nothing, background is what the control plane does by itself.
 */
export function classOf(counter: string): RequestClass {
  const [verb = '', resource = ''] = counter.split(' ');
  if (BACKGROUND.has(resource)) return 'background';
  if (!WRITES.has(verb)) return 'read';
  if (resource === 'events') return 'event';
  return resource.endsWith('reviews') || resource === 'serviceaccounts/token' ? 'review' : 'write';
}
