/** Which hosts and addresses the egress policy refuses, and in which words. */
import ipaddr from 'ipaddr.js';
import { hostOf, matchesHost, normalHost, portOf, readAddress } from './addresses.js';
import type { Address, Resolve } from './addresses.js';
import { createPlaces } from './places.js';
import type { Place } from './places.js';

/** How the policy is set; hosts are names, `*.example.org`, addresses or CIDRs. */
export interface EgressOptions {
  /** When not empty, nothing else is reached, and what is listed by address may be any address. */
  allow?: readonly string[];
  /** Never reached, whatever else says. */
  deny?: readonly string[];
  /** Whether loopback is reached: only in the embedded default. */
  allowLoopback?: boolean;
  /** URLs of API servers of the cluster itself; refused unless listed in `allow` by address. */
  apiServers?: readonly string[];
  /** Endpoints of Drover itself: never reached, whatever else says, under no name, address or spelling. */
  never?: readonly Place[];
}

/** The rules of one policy. */
export interface EgressRules {
  /** Why an address that a host has is not reached; undefined when it is. */
  refuseAddress: (host: string, address: Address, port: number) => string | undefined;
  /** What can be said about a host before its name is resolved. */
  refuseHost: (host: string, port: number) => string | undefined;
  /** Looks up anew what the names stand for that the rules themselves speak of. */
  refresh: () => Promise<unknown>;
}

type Cidr = [Address, number];

interface HostList {
  names: string[];
  cidrs: Cidr[];
}

/** Where clouds hand out credentials; those outside the link-local range. */
const METADATA = ['100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'].map(
  (text) => ipaddr.process(text).toNormalizedString(),
);
/** Ranges that actions have a reason to reach. */
const REACHED_RANGES: ReadonlySet<string> = new Set(['unicast', 'private', 'uniqueLocal', 'carrierGradeNat']);
/** How others are called; what is not named here has a special purpose. */
const REFUSED_RANGES: Record<string, string> = {
  unspecified: 'the unspecified address',
  loopback: 'a loopback address',
  linkLocal: 'a link-local address, where clouds serve their metadata',
  deprecatedSiteLocal: 'a site-local address',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
  reserved: 'a reserved address',
  discard: 'a discard address',
};
/** etcd, kubelet, controller-manager, scheduler, Temporal: nothing else has a reason to listen there on a private address. */
const CONTROL_PLANE_PORTS = new Set([2379, 2380, 10250, 10255, 10257, 10259, 7233, 7243]);
/** Said only where it would help. */
const LISTING = "; an administrator can list it in the worker's egress allow list";
const LISTING_ADDRESS = "; an administrator can list the address in the worker's egress allow list";
/** Whether a refusal says that an administrator's list would lift it. */
export const isListable = (refusal: string): boolean =>
  [LISTING, LISTING_ADDRESS].some((words) => refusal.endsWith(words));

const API_SERVER_NAMES = new Set([
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]);

/**
 * The rules that follow from the options.
 *
 * @throws Error when an entry of a list is neither a host name, an address nor a CIDR
 */
export function createEgressRules(options: EgressOptions, resolve: Resolve): EgressRules {
  const allow = parseList('allow', options.allow ?? []);
  const deny = parseList('deny', options.deny ?? []);
  const limited = allow.names.length + allow.cidrs.length > 0;
  const never = createPlaces(options.never ?? [], resolve);
  const apiServers = createPlaces(
    (options.apiServers ?? []).map((server) => {
      const url = new URL(server);
      return { host: hostOf(url), port: portOf(url), what: "the cluster's own API" };
    }),
    resolve,
  );

  /** Why an address that a host has is not reached. */
  function refuseAddress(host: string, address: Address, port: number): string | undefined {
    const shown = readAddress(host) === undefined ? `${host} (${address.toString()})` : host;
    const own = never.at(host, port, address);
    if (own !== undefined) return offLimits(`${shown}:${port}`, own);
    if (covered(deny, address)) return `${shown} is on the deny list`;
    if (covered(allow, address)) return undefined;
    if (apiServers.at(host, port, address) !== undefined) {
      return `${shown}:${port} is the cluster's own API${LISTING_ADDRESS}`;
    }
    const special = specialAddress(address, options.allowLoopback === true);
    if (special !== undefined) return `${shown} ${special}${LISTING_ADDRESS}`;
    if (limited && !listed(allow, host)) return `${shown} is not on the allow list${LISTING}`;
    if (CONTROL_PLANE_PORTS.has(port) && isPrivate(address) && !listed(allow, host)) {
      return `${shown}:${port} is a port of a control plane${LISTING}`;
    }
    return undefined;
  }

  /** What can be said about a host before its name is resolved. */
  function refuseHost(host: string, port: number): string | undefined {
    const address = readAddress(host);
    if (address !== undefined) return refuseAddress(host, address, port);
    const own = never.at(host, port);
    if (own !== undefined) return offLimits(`${host}:${port}`, own);
    if (listed(deny, host)) return `${host} is on the deny list`;
    if (API_SERVER_NAMES.has(host) && !listed(allow, host)) {
      return `${host} is the cluster's own API${LISTING}`;
    }
    return limited && allow.cidrs.length === 0 && !listed(allow, host)
      ? `${host} is not on the allow list${LISTING}`
      : undefined;
  }

  return {
    refuseAddress,
    refuseHost,
    refresh: () => Promise.all([never.refresh(), apiServers.refresh()]),
  };
}

const listed = (list: HostList, host: string): boolean => list.names.some((name) => matchesHost(name, host));

const covered = (list: HostList, address: Address): boolean =>
  list.cidrs.some((cidr) => cidr[0].kind() === address.kind() && address.match(cidr));

const offLimits = (shown: string, { what }: Place): string =>
  `${shown} is ${what}: no action reaches what belongs to Drover itself, whatever the allow list says`;

/** What an address is that actions have no reason to reach; undefined for any other. */
function specialAddress(address: Address, allowLoopback: boolean): string | undefined {
  if (METADATA.includes(address.toNormalizedString())) return 'serves cloud metadata';
  const range = address.range();
  if (REACHED_RANGES.has(range) || (range === 'loopback' && allowLoopback)) return undefined;
  return `is ${REFUSED_RANGES[range] ?? `an address of a special range (${range})`}`;
}

const isPrivate = (address: Address): boolean =>
  ['private', 'uniqueLocal', 'carrierGradeNat', 'loopback'].includes(address.range());

function parseList(what: string, entries: readonly string[]): HostList {
  const list: HostList = { names: [], cidrs: [] };
  for (const written of entries) {
    const entry = normalHost(written.trim());
    if (ipaddr.isValidCIDR(entry)) {
      const [address, bits] = ipaddr.parseCIDR(entry);
      list.cidrs.push([address, bits]);
    } else if (ipaddr.isValid(entry)) {
      const address = ipaddr.process(entry);
      list.cidrs.push([address, address.kind() === 'ipv4' ? 32 : 128]);
    } else if (/^(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(entry)) {
      list.names.push(entry);
    } else {
      throw new Error(
        `egress ${what} list: ${JSON.stringify(written)} is neither a host name, "*.domain", an address nor a CIDR`,
      );
    }
  }
  return list;
}
