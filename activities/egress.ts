/**
 * Which hosts HTTP actions may reach. Addresses are checked after DNS resolution, and the connection goes to the very
 * address that was checked, so that a name cannot be made to mean something else in between.
 */
import { lookup } from 'node:dns/promises';
import { connect as connectSocket } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';

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
}

/** Decides about hosts, and connects to those that are allowed. */
export interface EgressPolicy {
  /** Why a URL may not be requested, or undefined. Names are not resolved here. */
  refuse(url: URL): string | undefined;
  /**
   * A connector for one request. It fails with {@link EgressRefused} when the host resolves to an address that is not
   * allowed, and tells `onConnect` once bytes can flow.
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

/** Resolves a host name to all its addresses. */
export type Resolve = (host: string) => Promise<{ address: string; family: number }[]>;

type Address = ipaddr.IPv4 | ipaddr.IPv6;
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
/** etcd, kubelet, controller-manager and scheduler: nothing else has a reason to listen there on a private address. */
const CONTROL_PLANE_PORTS = new Set([2379, 2380, 10250, 10255, 10257, 10259]);
const API_SERVER_NAMES = new Set([
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]);

/**
 * A policy. Without `allow`, public and private addresses are reached; loopback, link-local, metadata and reserved
 * addresses and the cluster's own API are not (plan semantics, §1; architecture: Security). Environment variables that
 * name a proxy have no effect.
 *
 * @throws Error when an entry of a list is neither a host name, an address nor a CIDR
 */
export function createEgressPolicy(options: EgressOptions = {}, resolve: Resolve = resolveAll): EgressPolicy {
  const allow = parseList('allow', options.allow ?? []);
  const deny = parseList('deny', options.deny ?? []);
  const limited = allow.names.length + allow.cidrs.length > 0;
  const apiServers = (options.apiServers ?? []).map((server) => new URL(server));

  const listed = (list: HostList, host: string): boolean =>
    list.names.some((name) => matchesHost(name, host));
  const covered = (list: HostList, address: Address): boolean =>
    list.cidrs.some((cidr) => cidr[0].kind() === address.kind() && address.match(cidr));

  function refuseAddress(
    host: string,
    literal: string,
    port: number,
    own: ReadonlySet<string>,
  ): string | undefined {
    const address = unwrap(ipaddr.parse(withoutZone(literal)));
    const shown = host === literal ? host : `${host} (${address.toString()})`;
    if (covered(deny, address)) return `${shown} is on the deny list`;
    if (covered(allow, address)) return undefined;
    if (own.has(socketKey(address, port))) return `${shown}:${port} is the cluster's own API`;
    const range = address.range();
    if (METADATA.includes(address.toNormalizedString())) return `${shown} serves cloud metadata`;
    if (!REACHED_RANGES.has(range) && !(range === 'loopback' && options.allowLoopback === true))
      return `${shown} is ${REFUSED_RANGES[range] ?? `an address of a special range (${range})`}`;
    if (limited && !listed(allow, host)) return `${shown} is not on the allow list`;
    if (CONTROL_PLANE_PORTS.has(port) && isPrivate(range) && !listed(allow, host)) {
      return `${shown}:${port} is a port of a cluster's control plane`;
    }
    return undefined;
  }

  /** Addresses of the cluster's API servers, with port. A name among them is resolved each time: it may move. */
  async function ownAddresses(): Promise<Set<string>> {
    const all = await Promise.all(
      apiServers.map(async (server) => {
        const host = hostOf(server);
        const found = ipaddr.isValid(host)
          ? [{ address: host }]
          : await resolve(host).catch(() => [] as { address: string }[]);
        return found.map(({ address }) =>
          socketKey(unwrap(ipaddr.parse(withoutZone(address))), portOf(server)),
        );
      }),
    );
    return new Set(all.flat());
  }

  async function permitted(host: string, port: number): Promise<{ address: string; family: number }[]> {
    const found = ipaddr.isValid(host)
      ? [{ address: host, family: ipaddr.parse(host).kind() === 'ipv6' ? 6 : 4 }]
      : await resolve(host);
    const own = await ownAddresses();
    for (const { address } of found) {
      // One bad address refuses the name: mixed answers are how DNS is turned against a caller.
      const why = refuseAddress(host, address, port, own);
      if (why !== undefined) throw new EgressRefused(why);
    }
    return found;
  }

  /** What can be said about a host before its name is resolved. */
  function refuseHost(host: string, port: number): string | undefined {
    if (listed(deny, host)) return `${host} is on the deny list`;
    if (API_SERVER_NAMES.has(host) && !listed(allow, host)) return `${host} is the cluster's own API`;
    if (!ipaddr.isValid(host)) {
      return limited && allow.cidrs.length === 0 && !listed(allow, host)
        ? `${host} is not on the allow list`
        : undefined;
    }
    return refuseAddress(host, host, port, new Set());
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
    connector({ insecure, onConnect, tls }) {
      return (target, callback) => {
        const host = normal(target.hostname);
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
      const host = normal(target.host);
      const { port, signal } = target;
      const refused = refuseHost(host, port);
      if (refused !== undefined) throw new EgressRefused(refused);
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

/** Networks may translate addresses of this one as they like (RFC 8215): what one of them means is not known here. */
const LOCAL_NAT64 = ipaddr.parseCIDR('64:ff9b:1::/48');

/** The IPv4 address inside an IPv6 one that only wraps it: mapped, compatible, translated, 6to4. */
function unwrap(address: Address): Address {
  if (address.kind() === 'ipv4') return address;
  const v6 = address as ipaddr.IPv6;
  const bytes = v6.toByteArray();
  const embedded = (offset: number): ipaddr.IPv4 => new ipaddr.IPv4(bytes.slice(offset, offset + 4));
  switch (v6.range()) {
    case 'ipv4Mapped':
    case 'rfc6145':
      return embedded(12);
    case 'rfc6052':
      return v6.match(LOCAL_NAT64) ? v6 : embedded(12);
    case '6to4':
      return embedded(2);
    default: {
      const compatible =
        bytes.slice(0, 12).every((byte) => byte === 0) && bytes.slice(12, 15).some((byte) => byte > 0);
      return compatible ? embedded(12) : v6;
    }
  }
}

/** All loopback addresses are one machine, so they share their ports. */
const socketKey = (address: Address, port: number): string =>
  `${address.range() === 'loopback' ? 'loopback' : address.toNormalizedString()}:${port}`;

const isPrivate = (range: string): boolean =>
  range === 'private' || range === 'uniqueLocal' || range === 'carrierGradeNat' || range === 'loopback';

const withoutZone = (address: string): string => address.split('%', 1)[0] ?? address;

/** Lower case, without brackets and the dot of a fully qualified name. */
const normal = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');

const hostOf = (url: URL): string => normal(url.hostname);

const portOf = (url: URL): number => Number(url.port) || (url.protocol === 'https:' ? 443 : 80);

/** Whether a host is the named one, or, for `*.domain`, below it. Both in lower case. */
export function matchesHost(name: string, host: string): boolean {
  return name.startsWith('*.')
    ? host.endsWith(name.slice(1)) && host.length > name.length - 1
    : host === name;
}

function parseList(what: string, entries: readonly string[]): HostList {
  const list: HostList = { names: [], cidrs: [] };
  for (const written of entries) {
    const entry = normal(written.trim());
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
