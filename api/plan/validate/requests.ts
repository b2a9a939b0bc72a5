/** Checks of requests, which HTTP and Notify share. */
import type { RefusedPlace } from '../actions/descriptor.js';
import type { Problem } from '../../core/problem.js';
import type { Policy } from '../policy.js';
import { findPlaceholders } from '../template/placeholders.js';
import { renderString, renderUrl, userInfoProblem } from '../template/render.js';
import { error, show, warning } from '../../core/fields.js';
import { isSample, sampled, trySample } from './sample.js';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Checks the URL of a request, as far as placeholders let it be known. */
export function checkUrl(url: string, path: string): Problem[] {
  const authorityEnd = /^[^/?#]*:\/\/[^/?#]*/.exec(url)?.[0].length ?? url.length;
  const { placeholders } = findPlaceholders(url);
  const userInfo = userInfoProblem(url);
  if (userInfo !== undefined) return [error(path, 'InvalidURL', userInfo)];
  // A value in the authority goes in as it is, so nothing else is known before it is there.
  if (!placeholders.some((placeholder) => placeholder.start < authorityEnd)) {
    const sample = trySample(path, [url], (scope) => renderUrl(url, scope));
    if ('problems' in sample) return sample.problems;
  }
  if (!/^http:\/\//i.test(url) || /^http:\/\/(localhost|127\.|\[::1\])/i.test(url)) return [];
  return [
    warning(
      path,
      'InsecureTransport',
      'is sent without TLS, so it can be read and changed on the way; use https',
    ),
  ];
}

/** Warns of a request that takes any certificate. */
export const checkVerification = (
  { insecureSkipVerify }: { insecureSkipVerify?: boolean | undefined },
  path: string,
): Problem[] =>
  insecureSkipVerify === true
    ? [
        warning(
          `${path}.insecureSkipVerify`,
          'InsecureTransport',
          'the certificate of the server goes unchecked, so anyone on the way can answer in its place',
        ),
      ]
    : [];

/** Checks names of headers: allowed characters, none twice. */
export function checkHeaderNames(
  headers: readonly { name: string }[],
  path: string,
  seen: ReadonlySet<string> = new Set(),
): Problem[] {
  const known = new Set(seen);
  return headers.flatMap(({ name }, index) => checkHeaderName(name, `${path}[${index}].name`, known));
}

/** Checks the name of a header; `seen` has those of before, in lower case. */
export function checkHeaderName(name: string, where: string, seen: Set<string>): Problem[] {
  const isKnown = seen.has(name.toLowerCase());
  seen.add(name.toLowerCase());
  if (!HEADER_NAME.test(name)) {
    const message = `header name ${show(name)} is not allowed; placeholders and spaces cannot stand in a name`;
    return [error(where, 'InvalidHeader', message)];
  }
  return isKnown ? [error(where, 'DuplicateName', `header "${name}" is given twice; remove one`)] : [];
}

/** Whether policies refuse the host of a URL, as far as it is written down. */
export function refusedUrl(url: string | undefined, policy: Policy, at: string): RefusedPlace[] {
  const text = url === undefined ? undefined : sampled([url], (scope) => renderString(url, scope));
  const parsed = text === undefined || isSample(hostPart(text)) ? undefined : toUrl(text);
  if (parsed === undefined) return [];
  const port = Number(parsed.port) || (parsed.protocol === 'https:' ? 443 : 80);
  return [{ at, why: policy.refuseHost(parsed.hostname, port) }];
}

/** What stands where a URL has its host: a value there may be any host. */
const hostPart = (text: string): string => /^[a-z]+:\/\/([^/?#]*)/i.exec(text)?.[1] ?? text;

function toUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
