import { isObject } from '../../../api/core/json.js';
import type { KubeObject } from '../../../kube/object.js';

/** Most places that are named; more would help nobody. */
const MAX_PLACES = 5;
/** What a server keeps apart from what was sent, or what nobody deploys. */
const IGNORED = new Set(['status', 'apiVersion', 'kind']);

/**
 * Places where an object is not what was deployed, as dotted paths and without values, which may be secret. Only what was
 * written is compared: defaults and what others added are no difference, and absent is the same as empty.
 */
export function driftOf(deployed: KubeObject, live: KubeObject): string[] {
  const places: string[] = [];
  const wanted: Record<string, unknown> = { ...deployed };
  const has: Record<string, unknown> = { ...live };
  if (deployed.kind === 'Secret' && isObject(deployed.stringData)) {
    const encoded = Object.entries(deployed.stringData).map(([key, value]) => [
      key,
      Buffer.from(String(value)).toString('base64'),
    ]);
    wanted.data = { ...(isObject(deployed.data) ? deployed.data : {}), ...Object.fromEntries(encoded) };
    delete wanted.stringData;
  }
  for (const [key, value] of Object.entries(wanted)) {
    if (IGNORED.has(key)) continue;
    if (key === 'metadata')
      compare(deployed.metadata.labels, live.metadata.labels, 'metadata.labels', places);
    else compare(value, has[key], key, places);
  }
  return places.slice(0, MAX_PLACES);
}

function compare(wanted: unknown, has: unknown, path: string, places: string[]): void {
  if (places.length >= MAX_PLACES || saysNothing(wanted)) return;
  // Typed objects drop what is zero or false.
  if ((wanted === 0 || wanted === false) && has === undefined) return;
  if (isObject(wanted) && isObject(has)) {
    for (const [key, value] of Object.entries(wanted)) compare(value, has[key], `${path}.${key}`, places);
    return;
  }
  if (Array.isArray(wanted) && Array.isArray(has) && wanted.length === has.length) {
    wanted.forEach((value, index) => compare(value, has[index], `${path}[${index}]`, places));
    return;
  }
  if (!isSameScalar(wanted, has)) places.push(path);
}

/** Empty, or holds nothing but what is empty: left to the defaults. */
function saysNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (isObject(value)) return Object.values(value).every((one) => saysNothing(one));
  return Array.isArray(value) && value.length === 0;
}

function isSameScalar(wanted: unknown, has: unknown): boolean {
  const isScalar = (value: unknown): value is string | number | boolean =>
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  if (!isScalar(wanted) || !isScalar(has)) return false;
  if (String(wanted) === String(has)) return true;
  const [a, b] = [quantityOf(wanted), quantityOf(has)];
  return a !== undefined && b !== undefined && Math.abs(a - b) <= Math.abs(a) * 1e-9;
}

const SUFFIXES: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A Kubernetes quantity: `1000m` is stored as `1`. */
function quantityOf(value: string | number | boolean): number | undefined {
  const [, digits, suffix = ''] = /^([+-]?\d+(?:\.\d+)?)([a-zA-Z]{0,2})$/.exec(String(value)) ?? [];
  const factor = Object.hasOwn(SUFFIXES, suffix) ? SUFFIXES[suffix] : undefined;
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}
