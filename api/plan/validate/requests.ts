import type { Problem } from '../../core/problem.js';
import { isHostOf, renderHeaderValue, renderUrl, userInfoProblem } from '../template/render.js';
import { findPlaceholders } from '../template/placeholders.js';
import { HTTP_METHODS } from '../actions/http.js';
import type { HTTPAction } from '../types.js';
import { error, member, show, warning } from './fields.js';
import { isTemplated, trySample } from './sample.js';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Method of a request, upper case: default GET; undefined while it is a placeholder. */
export function methodOf(http: HTTPAction): string | undefined {
  const method = http.method ?? '';
  if (method === '') return 'GET';
  return isTemplated(method) ? undefined : method.toUpperCase();
}

/** Checks an HTTP action: URL, method, headers, transport security. */
export function checkHttp(http: HTTPAction, path: string): Problem[] {
  const problems = checkUrl(http.url, `${path}.url`);
  const method = methodOf(http);
  if (method !== undefined && !(HTTP_METHODS as readonly string[]).includes(method)) {
    const message = `is ${show(http.method)}; allowed are ${HTTP_METHODS.join(', ')}`;
    problems.push(error(`${path}.method`, 'InvalidField', message));
  }
  if ((method === 'GET' || method === 'HEAD') && (http.body ?? '') !== '') {
    problems.push(
      warning(
        `${path}.body`,
        'SuspectField',
        `a ${method} request has a body, which most servers ignore; set method`,
      ),
    );
  }
  if (http.insecureSkipVerify === true) {
    problems.push(
      warning(
        `${path}.insecureSkipVerify`,
        'InsecureTransport',
        'the certificate of the server goes unchecked, so anyone on the way can answer in its place',
      ),
    );
  }
  return [...problems, ...checkSuccessCodes(http, path), ...checkHeaders(http, path)];
}

/** Any number is taken, as the original does; one that no answer has is most likely misspelt. */
function checkSuccessCodes({ successCodes = [] }: HTTPAction, path: string): Problem[] {
  return successCodes.flatMap((code, index) =>
    code >= 100 && code <= 999
      ? []
      : [
          warning(
            `${path}.successCodes[${index}]`,
            'SuspectField',
            `is ${code}, which no answer has: status codes have three digits`,
          ),
        ],
  );
}

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

/** Checks names of headers: allowed characters, none twice. */
export function checkHeaderNames(
  headers: readonly { name: string }[],
  path: string,
  seen: ReadonlySet<string> = new Set(),
): Problem[] {
  const known = new Set(seen);
  return headers.flatMap(({ name }, index) => checkHeaderName(name, `${path}[${index}].name`, known));
}

function checkHeaderName(name: string, where: string, seen: Set<string>): Problem[] {
  const isKnown = seen.has(name.toLowerCase());
  seen.add(name.toLowerCase());
  if (!HEADER_NAME.test(name)) {
    const message = `header name ${show(name)} is not allowed; placeholders and spaces cannot stand in a name`;
    return [error(where, 'InvalidHeader', message)];
  }
  return isKnown ? [error(where, 'DuplicateName', `header "${name}" is given twice; remove one`)] : [];
}

/** Another host in `Host` than in the URL is refused; with placeholders it is left to the call. */
function checkHost(name: string, value: string, url: string, where: string): Problem[] {
  if (name.toLowerCase() !== 'host' || isTemplated(value) || isTemplated(url) || !URL.canParse(url))
    return [];
  if (isHostOf(value, url)) return [];
  const message = `header "${name}" differs from ${new URL(url).host}, the host of the URL; remove it, and write the host that is meant in the URL`;
  return [error(where, 'InvalidHeader', message)];
}

function checkHeaders(http: HTTPAction, path: string): Problem[] {
  const seen = new Set<string>();
  const problems = Object.entries(http.headers ?? {}).flatMap(([name, value]) => {
    const where = member(`${path}.headers`, name);
    const sample = trySample(where, [value], (scope) => renderHeaderValue(value, scope));
    return [
      ...checkHeaderName(name, where, seen),
      ...('problems' in sample ? sample.problems : checkHost(name, value, http.url, where)),
    ];
  });
  return [...problems, ...checkHeaderNames(http.headersFrom ?? [], `${path}.headersFrom`, seen)];
}
