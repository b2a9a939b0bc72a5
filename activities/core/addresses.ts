/** What hosts and addresses of URLs mean, in whatever way they are written. */
import ipaddr from 'ipaddr.js';

/** An address of either family. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Networks may translate addresses in this block as they like (RFC 8215): what one of them means is not known here. */
const LOCAL_NAT64 = ipaddr.parseCIDR('64:ff9b:1::/48');

/** An address as text, decimal, octal and hexadecimal spellings and zones included; undefined for a name. */
export function readAddress(text: string): Address | undefined {
  const bare = text.split('%', 1)[0] ?? text;
  return ipaddr.isValid(bare) ? unwrap(ipaddr.parse(bare)) : undefined;
}

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
      return isTranslatedUnknown(v6) ? v6 : embedded(12);
    case '6to4':
      return embedded(2);
    default: {
      const compatible =
        bytes.slice(0, 12).every((byte) => byte === 0) && bytes.slice(12, 15).some((byte) => byte > 0);
      return compatible ? embedded(12) : v6;
    }
  }
}

/** Whether networks on the way may translate it into any other address. */
export const isTranslatedUnknown = (address: Address): boolean =>
  address.kind() === 'ipv6' && (address.match(LOCAL_NAT64) || address.range() === 'teredo');

/** A host in lower case, without brackets and the dot of a fully qualified name. */
export const normalHost = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');

/** Host of a URL, as {@link normalHost} writes it. */
export const hostOf = (url: URL): string => normalHost(url.hostname);

/** Port of an http or https URL. */
export const portOf = (url: URL): number => Number(url.port) || (url.protocol === 'https:' ? 443 : 80);

/** Whether a host is the named one, or, for `*.domain`, below it. Both in lower case. */
export function matchesHost(name: string, host: string): boolean {
  return name.startsWith('*.')
    ? host.endsWith(name.slice(1)) && host.length > name.length - 1
    : host === name;
}

/** Resolves a host name to all its addresses. */
export type Resolve = (host: string) => Promise<{ address: string; family: number }[]>;
