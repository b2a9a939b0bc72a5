import type { Problem } from '../problem.js';
import { renderHeaderValue, renderUrl } from '../render.js';
import { findPlaceholders } from '../placeholders.js';
import type { HTTPAction } from '../types.js';
import { error, member, show, warning } from './fields.js';
import { isTemplated, trySample } from './sample.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
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
  if (method !== undefined && !METHODS.includes(method)) {
    const message = `is ${show(http.method)}; allowed are ${METHODS.join(', ')}`;
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
  return [...problems, ...checkHeaders(http, path)];
}

function checkUrl(url: string, path: string): Problem[] {
  const authorityEnd = /^[^/?#]*:\/\/[^/?#]*/.exec(url)?.[0].length ?? url.length;
  const { placeholders } = findPlaceholders(url);
  // A value in the authority goes in as it is, so nothing is known before it is there.
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

function checkHeaders(http: HTTPAction, path: string): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  const checkName = (name: string, where: string): void => {
    if (!HEADER_NAME.test(name)) {
      problems.push(
        error(
          where,
          'InvalidHeader',
          `header name ${show(name)} is not allowed; placeholders and spaces cannot stand in a name`,
        ),
      );
    } else if (seen.has(name.toLowerCase())) {
      problems.push(error(where, 'DuplicateName', `header "${name}" is given twice; remove one`));
    }
    seen.add(name.toLowerCase());
  };
  for (const [name, value] of Object.entries(http.headers ?? {})) {
    const where = member(`${path}.headers`, name);
    checkName(name, where);
    const sample = trySample(where, [value], (scope) => renderHeaderValue(value, scope));
    if ('problems' in sample) problems.push(...sample.problems);
  }
  for (const [index, header] of (http.headersFrom ?? []).entries()) {
    checkName(header.name, `${path}.headersFrom[${index}].name`);
  }
  return problems;
}
