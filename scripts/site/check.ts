/** What holds of every file of the site, however it was made. */
import { posix } from 'node:path';

/** Path of each file in the site, with its text where it is a page. */
export type SiteFiles = ReadonlyMap<string, string | undefined>;

/** Links and anchors of all pages that lead nowhere, and what would be loaded from elsewhere: `<page>: <address>`. */
export function faultsOf(files: SiteFiles): string[] {
  const anchors = new Map([...files].map(([path, html]) => [path, anchorsIn(html ?? '')]));
  return [...files].flatMap(([path, html]) =>
    addressesIn(html ?? '')
      .filter(({ attribute, address }) => !isThere({ path, attribute, address }, anchors))
      .map(({ address }) => `${path}: ${address}`),
  );
}

interface Address {
  attribute: string;
  address: string;
}

/** `href`, `src` and `action` of all elements. */
function addressesIn(html: string): Address[] {
  return [...html.matchAll(/<(\w+)[^>]*? (href|src|action)="([^"]*)"/g)].map(
    ([, element = '', attribute = '', address = '']) => ({
      // Only where a link of a text leads to is not loaded with the page.
      attribute: element === 'a' ? 'href' : attribute === 'action' ? 'action' : 'src',
      address: address.replaceAll('&amp;', '&'),
    }),
  );
}

function isThere(
  { path, attribute, address }: Address & { path: string },
  anchors: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  if (address.startsWith('data:')) return true;
  if (/^([a-z]+:|\/)/.test(address)) return attribute === 'href' && /^(https?|mailto):/.test(address);
  const [whole = '', anchor] = decodeURI(address).split('#');
  const [target = ''] = whole.split('?');
  const found = anchors.get(target === '' ? path : posix.join(posix.dirname(path), target));
  return found !== undefined && (anchor === undefined || found.has(anchor));
}

const anchorsIn = (html: string): Set<string> =>
  new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id));
