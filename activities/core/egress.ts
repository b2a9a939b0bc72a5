/**
 * Which hosts HTTP actions may reach. Addresses are checked after DNS resolution, and the connection goes to the very
 * address that was checked, so that a name cannot be made to mean something else in between.
 */
import { lookup } from 'node:dns/promises';
import { connect as connectSocket, isIP } from 'node:net';
import type { LookupFunction, Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { hostOf, normalHost, portOf, readAddress } from './addresses.js';
import type { Resolve } from './addresses.js';
import { createEgressRules } from './egress-rules.js';
import type { EgressOptions } from './egress-rules.js';

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

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * A policy. Without `allow`, public and private addresses are reached; loopback, link-local, metadata and reserved
 * addresses and the cluster's own API are not (S1.6; SEC5). Environment variables that
 * name a proxy have no effect.
 *
 * @throws Error when an entry of a list is neither a host name, an address nor a CIDR
 */
export function createEgressPolicy(options: EgressOptions = {}, resolve: Resolve = resolveAll): EgressPolicy {
  const rules = createEgressRules(options, resolve);
  const permitted: Permitted = async (host, port) => {
    const refused = rules.refuseHost(host, port);
    if (refused !== undefined) throw new EgressRefused(refused);
    const found = readAddress(host) === undefined ? resolve(host) : [asSystemsWriteIt(host)];
    const [addresses] = await Promise.all([found, rules.refresh()]);
    for (const { address: text } of addresses) {
      const address = readAddress(text);
      // One bad address refuses the name: mixed answers are how DNS is turned against a caller.
      const why =
        address === undefined ? `${host} has no valid address` : rules.refuseAddress(host, address, port);
      if (why !== undefined) throw new EgressRefused(why);
    }
    return addresses;
  };
  return {
    refuse(url) {
      const host = hostOf(url);
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        return `its scheme is ${JSON.stringify(url.protocol)}; allowed are http and https`;
      }
      if (url.username !== '' || url.password !== '') {
        return 'it carries a user name or a password; use headersFrom with a Secret';
      }
      return rules.refuseHost(host, portOf(url));
    },
    refuseHost: (host, port) => rules.refuseHost(normalHost(host), port),
    connector: (how) => connectorOf(permitted, how),
    connect: (target) => openSocket(permitted, target),
  };
}

/**
 * The addresses of a host, all of them checked.
 *
 * @throws EgressRefused
 */
type Permitted = (host: string, port: number) => Promise<{ address: string; family: number }[]>;

function connectorOf(
  permitted: Permitted,
  { insecure, onConnect, tls }: ConnectorOptions,
): buildConnector.connector {
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
}

async function openSocket(
  permitted: Permitted,
  target: Parameters<EgressPolicy['connect']>[0],
): Promise<Socket> {
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

/** What `0x7f.1` and the like stand for. */
function asSystemsWriteIt(address: string): { address: string; family: number } {
  const family = isIP(address);
  return family === 0 ? { address: ipaddr.parse(address).toString(), family: 4 } : { address, family };
}
