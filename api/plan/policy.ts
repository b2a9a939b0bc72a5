/** What the plans of a namespace may do: the policies for it, put together. */
import { findEscalation } from './escalation.js';
import { isObject } from '../core/json.js';
import type { DRPolicySpec, Escalation, KindRule } from './schema/policy.js';

/** The policies for one namespace. Each method returns why something is refused, or undefined. */
export interface Policy {
  /** Whether an action may write an object; `operation` absent: some step of what was allowed, such as an undo. */
  refuseObject(object: Record<string, unknown>, operation?: string): string | undefined;
  /** Whether HTTP and Notify may reach a host. */
  refuseHost(host: string, port: number): string | undefined;
  /** Whether a target may be an API server. */
  refuseCluster(host: string, port: number): string | undefined;
  /** Whether a plan may act as an account; undefined = the controller. */
  refuseAccount(name: string | undefined): string | undefined;
}

const ASK = 'an administrator can allow it in a DRPolicy for the namespace';

/**
 * Puts the policies for a namespace together. A list limits as soon as one policy has it, and what several allow adds
 * up, as with a NetworkPolicy. Without any policy, everything that the account may do is allowed, except escalations.
 *
 * @param isOpen whether a value is not known yet, so that nothing is said about it
 */
export function policyFor(
  namespace: string,
  policies: readonly DRPolicySpec[],
  isOpen: (value: unknown) => boolean = () => false,
): Policy {
  const own = policies.filter((policy) => covers(policy.namespaces ?? ['*'], namespace));
  const union = <T>(of: (policy: DRPolicySpec) => readonly T[] | undefined): T[] | undefined => {
    const lists = own.map(of).filter((list) => list !== undefined);
    return lists.length === 0 ? undefined : lists.flat();
  };
  const kinds = union((policy) => policy.kinds);
  const hosts = union((policy) => policy.hosts);
  const clusters = union((policy) => policy.clusters);
  const accounts = union((policy) => policy.serviceAccounts);
  const allowed = new Set<Escalation>(own.flatMap((policy) => policy.allow ?? []));

  const refuseAddress =
    (list: readonly string[] | undefined, field: string) =>
    (host: string, port: number): string | undefined =>
      list === undefined || isOpen(host) || list.some((entry) => matchesHost(entry, host, port))
        ? undefined
        : `${host}:${port} is none of the ${field} that a DRPolicy allows for plans of namespace ${namespace} (${shown(list)}); ${ASK}`;

  return {
    refuseObject(object, operation) {
      const { apiVersion, kind } = object;
      const metadata = isObject(object.metadata) ? object.metadata : {};
      const what = `${String(kind)} ${String(metadata.name)}`;
      const found = findEscalation(object);
      if (found !== undefined && !allowed.has(found.class)) {
        return `${what} is refused as ${found.class}: ${found.why}; ${ASK} (allow: [${found.class}])`;
      }
      if (kinds === undefined || [apiVersion, kind, metadata.namespace, operation].some(isOpen)) {
        return undefined;
      }
      if (kinds.some((rule) => allowsObject(rule, object, operation, namespace))) return undefined;
      const verb = operation === undefined ? 'write' : operation.toLowerCase();
      const where = typeof metadata.namespace === 'string' ? ` in namespace ${metadata.namespace}` : '';
      return `plans of namespace ${namespace} may not ${verb} ${String(apiVersion)} ${what}${where}; ${ASK} (kinds)`;
    },
    refuseHost: refuseAddress(hosts, 'hosts'),
    refuseCluster: refuseAddress(clusters, 'clusters'),
    refuseAccount(name) {
      if (accounts === undefined || (name !== undefined && accounts.includes(name))) return undefined;
      return `plans of namespace ${namespace} may act as ${shown(accounts)}, and not as ${name ?? 'the controller'}; ${ASK} (serviceAccounts)`;
    },
  };
}

function allowsObject(
  rule: KindRule,
  { apiVersion, kind, metadata }: Record<string, unknown>,
  operation: string | undefined,
  planNamespace: string,
): boolean {
  const group = typeof apiVersion === 'string' && apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  const inList = (list: readonly string[], value: unknown): boolean =>
    list.includes('*') || list.includes(String(value));
  if (!inList(rule.apiGroups, group) || !inList(rule.kinds, kind)) return false;
  if (operation !== undefined && !(rule.operations ?? [operation]).some((one) => one === operation)) {
    return false;
  }
  const namespace = isObject(metadata) ? metadata.namespace : undefined;
  // Kinds outside namespaces are named one by one.
  if (typeof namespace !== 'string') return true;
  return covers(rule.namespaces ?? [planNamespace], namespace);
}

/** Whether one of the names, `prefix*` or `*`, is a namespace. */
function covers(patterns: readonly string[], namespace: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? namespace.startsWith(pattern.slice(0, -1)) : pattern === namespace,
  );
}

function matchesHost(entry: string, host: string, port: number): boolean {
  const { name, port: wanted } = splitHost(entry);
  if (wanted !== undefined && wanted !== port) return false;
  const asked = normal(host);
  return name.startsWith('*.')
    ? asked.endsWith(name.slice(1)) && asked.length > name.length - 1
    : asked === normal(name);
}

/** `host`, `host:port`, `[address]:port`, or an IPv6 address as it is. */
function splitHost(entry: string): { name: string; port?: number } {
  const bracketed = /^\[([^\]]*)\](?::([0-9]+))?$/.exec(entry);
  const simple = bracketed ?? /^([^:]*)(?::([0-9]+))?$/.exec(entry);
  if (simple === null) return { name: entry };
  const [, name = '', port] = simple;
  return { name, ...(port !== undefined && { port: Number(port) }) };
}

const normal = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');

function shown(list: readonly string[]): string {
  const MAX_LISTED = 8;
  if (list.length === 0) return 'none';
  return list.length > MAX_LISTED
    ? `${list.slice(0, MAX_LISTED).join(', ')} and ${list.length - MAX_LISTED} more`
    : list.join(', ');
}
