/**
 * Which hosts HTTP actions may reach. Addresses are checked after DNS resolution, and the connection goes to the very
 * address that was checked, so that a name cannot be made to mean something else in between.
 */
import { lookup } from 'node:dns/promises';
import { connect as connectSocket, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
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

/** Decides about hosts, and connects to those that are allowed. */
export interface EgressPolicy {
  /** Why a URL may not be requested, and what would change that, or undefined. Names are not resolved here. */
  refuse(url: URL): string | undefined;
  /** The same of a host and a port, for what is not HTTP. */
  refuseHost(host: string, port: number): string | undefined;
  /**
   * A connector for one request. It fails with {@link EgressRefused} when the host resolves to an address that is not
   * allowed, and calls `onConnect` once bytes can flow.
   */
  connector(options: ConnectorOptions): buildConnector.connector;
  /**
   * A plain connection, for what is not HTTP.
   *
   * @throws EgressRefused, and the errors of the network
   */
  connect(target: { host: string; port: number; signal: AbortSignal }): Promise<Socket>;
}

/** How one request is connected. */
export interface ConnectorOptions {
  /** Whether the server's certificate goes unchecked. */
  insecure: boolean;
  onConnect: () => void;
  /** Authorities, client certificate and name to check, in PEM; default: those of the system, none, the host's. */
  tls?: { ca?: string; cert?: string; key?: string; servername?: string };
}

/** A host that may not be reached. */
export class EgressRefused extends Error {
  override readonly name = 'EgressRefused';
}

type Cidr = [Address, number];

interface HostList {
  names: string[];
  cidrs: Cidr[];
}

const CONNECT_TIMEOUT_MS = 10_000;

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
 * A policy. Without `allow`, public and private addresses are reached; loopback, link-local, metadata and reserved
 * addresses and the cluster's own API are not (S1.6; SEC5). Environment variables that
 * name a proxy have no effect.
 *
 * @throws Error when an entry of a list is neither a host name, an address nor a CIDR
 */
export function createEgressPolicy(options: EgressOptions = {}, resolve: Resolve = resolveAll): EgressPolicy {
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

  const listed = (list: HostList, host: string): boolean =>
    list.names.some((name) => matchesHost(name, host));
  const covered = (list: HostList, address: Address): boolean =>
    list.cidrs.some((cidr) => cidr[0].kind() === address.kind() && address.match(cidr));

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
    const range = address.range();
    if (METADATA.includes(address.toNormalizedString())) {
      return `${shown} serves cloud metadata${LISTING_ADDRESS}`;
    }
    if (!REACHED_RANGES.has(range) && !(range === 'loopback' && options.allowLoopback === true)) {
      const what = REFUSED_RANGES[range] ?? `an address of a special range (${range})`;
      return `${shown} is ${what}${LISTING_ADDRESS}`;
    }
    if (limited && !listed(allow, host)) return `${shown} is not on the allow list${LISTING}`;
    if (CONTROL_PLANE_PORTS.has(port) && isPrivate(range) && !listed(allow, host)) {
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

  async function permitted(host: string, port: number): Promise<{ address: string; family: number }[]> {
    const refused = refuseHost(host, port);
    if (refused !== undefined) throw new EgressRefused(refused);
    const found = readAddress(host) === undefined ? resolve(host) : [asSystemsWriteIt(host)];
    const [addresses] = await Promise.all([found, never.refresh(), apiServers.refresh()]);
    for (const { address: text } of addresses) {
      const address = readAddress(text);
      // One bad address refuses the name: mixed answers are how DNS is turned against a caller.
      const why = address === undefined ? `${host} has no valid address` : refuseAddress(host, address, port);
      if (why !== undefined) throw new EgressRefused(why);
    }
    return addresses;
  }

  return {
    refuse(url) {
      const host = hostOf(url);
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        return `its scheme is ${JSON.stringify(url.protocol)}; allowed are http and https`;
      }
      if (url.username !== '' || url.password !== '') {
        return 'it carries a user name or a password; use headersFrom with a Secret';
      }
      return refuseHost(host, portOf(url));
    },
    refuseHost: (host, port) => refuseHost(normalHost(host), port),
    connector({ insecure, onConnect, tls }) {
      return (target, callback) => {
        const host = normalHost(target.hostname);
        const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
        permitted(host, port).then(
          (addresses) => {
            const connect = buildConnector({
              timeout: CONNECT_TIMEOUT_MS,
              ...tls,
              rejectUnauthorized: !insecure,
              lookup: pinned(addresses),
            });
            connect(target, (...result) => {
              if (result[0] === null) onConnect();
              callback(...result);
            });
          },
          (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
        );
      };
    },
    async connect(target) {
      const host = normalHost(target.host);
      const { port, signal } = target;
      const lookup = pinned(await permitted(host, port));
      signal.throwIfAborted();
      return new Promise<Socket>((resolve, reject) => {
        const socket = connectSocket({ host, port, lookup, signal, timeout: CONNECT_TIMEOUT_MS });
        socket.once('error', reject);
        socket.once('timeout', () => {
          socket.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1000} s`));
        });
        socket.once('connect', () => {
          socket.setTimeout(0);
          socket.off('error', reject);
          resolve(socket);
        });
      });
    },
  };
}

const resolveAll: Resolve = (host) => lookup(host, { all: true });

/** Answers every look-up with addresses that were checked. */
function pinned(addresses: { address: string; family: number }[]): LookupFunction {
  return (_host, options, callback) => {
    const wanted = options.family === 4 || options.family === 6 ? options.family : undefined;
    const fit = addresses.filter(({ family }) => wanted === undefined || family === wanted);
    const [first] = fit;
    if (first === undefined) {
      callback(Object.assign(new Error('no address of the wanted family'), { code: 'ENOTFOUND' }), '', 0);
    } else if (options.all === true) {
      callback(null, fit);
    } else {
      callback(null, first.address, first.family);
    }
  };
}

const offLimits = (shown: string, { what }: Place): string =>
  `${shown} is ${what}: no action reaches what belongs to Drover itself, whatever the allow list says`;

/** What `0x7f.1` and the like stand for. */
function asSystemsWriteIt(address: string): { address: string; family: number } {
  const family = isIP(address);
  return family === 0 ? { address: ipaddr.parse(address).toString(), family: 4 } : { address, family };
}

const isPrivate = (range: string): boolean =>
  range === 'private' || range === 'uniqueLocal' || range === 'carrierGradeNat' || range === 'loopback';

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
