/**
 * Endpoints by what they are rather than by how they are written: a name, any of its addresses, and, for this machine,
 * every address it has. Otherwise another spelling of an endpoint would get around a rule about it.
 */
import { networkInterfaces } from 'node:os';
import { LRUCache } from 'lru-cache';
import ipaddr from 'ipaddr.js';
import { hostOf, isTranslatedUnknown, matchesHost, normalHost, portOf, readAddress } from './addresses.js';
import type { Address, Resolve } from './addresses.js';

/** An endpoint. */
export interface Place {
  /** A name, `*.domain`, an address, a CIDR, or {@link THIS_MACHINE}. */
  host: string;
  port: number;
  /** What it is, for messages; such as `Temporal's Web UI`. */
  what: string;
}

/** Recognises its endpoints. */
export interface Places {
  /**
   * Which of the endpoints this is, or undefined.
   *
   * @param host as {@link normalHost} writes it
   * @param address an address of that host, when it is known
   */
  at(host: string, port: number, address?: Address): Place | undefined;
  /** Looks up the names among the endpoints, if the last time was a while ago. Never throws. */
  refresh(): Promise<void>;
}

/** Every address of the machine that this program runs on. */
export const THIS_MACHINE = '127.0.0.1';

/** Names are looked up again after this time. */
const FRESH_MS = 5000;
/**
 * An address that a name has resolved to still counts for this long: many names return only some of theirs each time.
 */
const REMEMBERED_MS = 10 * 60_000;
const MAX_REMEMBERED = 4096;
/** A name service that does not answer must not hold a failover up. */
const PATIENCE_MS = 1000;

/** Places that are recognised by name and by address. */
export function createPlaces(places: readonly Place[], resolve: Resolve): Places {
  const named = places.map((place) => ({ place, name: normalHost(place.host) }));
  const fixed = named.flatMap(({ place, name }) => {
    const address = readAddress(name);
    return address === undefined ? [] : [{ place, address }];
  });
  const ranges = named.flatMap(({ place, name }) =>
    ipaddr.isValidCIDR(name) ? [{ place, cidr: ipaddr.parseCIDR(name) }] : [],
  );
  const toResolve = named.filter(
    ({ name }) => readAddress(name) === undefined && !ipaddr.isValidCIDR(name) && !name.startsWith('*.'),
  );
  const ports = new Map(places.map((place) => [place.port, place]));
  const seen = new LRUCache<string, { place: Place; address: Address }>({
    max: MAX_REMEMBERED,
    ttl: REMEMBERED_MS,
  });
  let looked: { at: number; done: Promise<void> } | undefined;

  async function look(): Promise<void> {
    await Promise.all(
      toResolve.map(async ({ place, name }) => {
        const found = await resolve(name).catch(() => []);
        for (const { address: text } of found) {
          const address = readAddress(text);
          if (address !== undefined) seen.set(`${address.toString()}:${place.port}`, { place, address });
        }
      }),
    );
  }

  function byAddress(address: Address, port: number): Place | undefined {
    const onPort = ports.get(port);
    if (onPort === undefined) return undefined;
    // It may mean any of them.
    if (isTranslatedUnknown(address)) return onPort;
    const own = ownAddresses();
    const here = isHere(address, own);
    const isIt = (entry: { place: Place; address: Address }): boolean =>
      entry.place.port === port &&
      (entry.address.toString() === address.toString() || (here && isHere(entry.address, own)));
    return (
      fixed.find(isIt)?.place ??
      [...seen.values()].find(isIt)?.place ??
      ranges.find(
        ({ place, cidr: [network, bits] }) =>
          place.port === port && network.kind() === address.kind() && address.match(network, bits),
      )?.place
    );
  }

  return {
    at(host, port, address) {
      const byName = named.find(({ place, name }) => place.port === port && matchesHost(name, host));
      if (byName !== undefined) return byName.place;
      return address === undefined ? undefined : byAddress(address, port);
    },
    async refresh() {
      if (toResolve.length === 0) return;
      if (looked === undefined || Date.now() - looked.at > FRESH_MS) {
        looked = { at: Date.now(), done: look() };
      }
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((end) => (timer = setTimeout(end, PATIENCE_MS)));
      await Promise.race([looked.done, patience]);
      clearTimeout(timer);
    },
  };
}

/** Asked each time: a machine gains and loses addresses while a program runs. */
function ownAddresses(): Set<string> {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return new Set(all.map(({ address }) => readAddress(address)?.toString() ?? address));
}

/** Loopback is this machine under any of its addresses, and so is the unspecified address, to which systems connect. */
const isHere = (address: Address, own: ReadonlySet<string>): boolean =>
  ['loopback', 'unspecified'].includes(address.range()) || own.has(address.toString());

const PLACE_SYNTAX = /^(?<host>\[[^\]]+\]|[^:[\]]+):(?<port>\d{1,5})$/;

/**
 * Reads `HOST:PORT`, where the host may be a name, `*.domain`, an address (IPv6 in brackets) or a CIDR, or an http or
 * https URL.
 *
 * @returns undefined when it is none of these
 */
export function readPlace(text: string): Pick<Place, 'host' | 'port'> | undefined {
  if (/^https?:\/\//i.test(text)) {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    return url && { host: hostOf(url), port: portOf(url) };
  }
  const { host = '', port = '' } = PLACE_SYNTAX.exec(text)?.groups ?? {};
  const name = normalHost(host);
  const isHost =
    readAddress(name) !== undefined ||
    ipaddr.isValidCIDR(name) ||
    /^(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/.test(name);
  const number = Number(port);
  return isHost && number > 0 && number <= 65_535 ? { host: name, port: number } : undefined;
}
