import { findPlaceholders } from './placeholders.js';
import { parseTemplate, RenderError, resolve } from './render-scope.js';
import type { RenderScope } from './render-scope.js';

/**
 * Renders a URL. A value at its beginning or in the authority goes in as it is; in path, query and fragment it is
 * percent-encoded, and may not turn a path segment into `.` or `..`. The result must be an http or https URL
 * (S2.13, S2.14); which hosts may be contacted is not decided here.
 * Throws {@link RenderError} `InvalidURL` and those of placeholders.
 */
export function renderUrl(text: string, scope: RenderScope): string {
  const template = parseTemplate(text);
  let url = template.texts[0] ?? '';
  const encodedAt: number[] = [];
  for (const [index, placeholder] of template.placeholders.entries()) {
    const value = String(resolve(template, placeholder, scope));
    if (!inAuthority(url)) {
      encodedAt.push(url.length);
      url += encode(placeholder.text, value);
    } else if (url !== '' && value.includes('@')) {
      refuse(placeholder.text, withoutUserInfo(value), 'a value inside the host may not hold "@"');
    } else {
      url += value;
    }
    url += template.texts[index + 1] ?? '';
  }
  if (encodedAt.some((offset) => isDotSegment(url, offset))) {
    throw new RenderError(
      'InvalidURL',
      `URL ${quote(url)}: a value makes a path segment "." or "..", which would address something else; use another value`,
    );
  }
  check(url);
  return url;
}

/**
 * Renders the value of a request header. Line ends, NUL and whatever else HTTP does not allow there are refused
 * with {@link RenderError} `InvalidHeader`, which names the header when it is given.
 */
export function renderHeaderValue(text: string, scope: RenderScope, name?: string): string {
  const template = parseTemplate(text);
  let value = template.texts[0] ?? '';
  for (const [index, placeholder] of template.placeholders.entries()) {
    value += String(resolve(template, placeholder, scope)) + (template.texts[index + 1] ?? '');
  }

  const bad = /[^\t\x20-\x7e\x80-\xff]/.exec(value);
  if (bad !== null) {
    throw new RenderError(
      'InvalidHeader',
      `header ${name === undefined ? '' : `${name}: its `}value from ${quote(text)} would hold the character ${codePoint(bad[0])} at offset ${bad.index}; allowed are printable Latin-1 characters, spaces and tabs, no line ends. Correct the value, or encode it`,
    );
  }
  return value;
}

/** Whether what is appended to this text still belongs to the scheme or the authority. */
function inAuthority(before: string): boolean {
  return !/[/?#\\]/.test(before.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\//, ''));
}

function encode(placeholder: string, value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    return refuse(placeholder, value, 'the value holds half of a surrogate pair and is no valid text');
  }
}

/** Whether the path segment around an offset is `.` or `..`, also percent-encoded. */
function isDotSegment(url: string, offset: number): boolean {
  if (/[?#]/.test(url.slice(0, offset))) return false;
  const start = url.lastIndexOf('/', offset - 1) + 1;
  const segment = url.slice(start).split(/[/?#]/, 1)[0] ?? '';
  return /^(?:\.|%2e){1,2}$/i.test(segment);
}

function check(url: string): void {
  // oxlint-disable-next-line no-control-regex -- the parser would drop these silently
  if (/[\s\\\x00-\x1f\x7f]/.test(url)) {
    refuseUrl(url, 'it holds white space, a control character or a backslash');
  }
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return refuseUrl(url, 'it is not a complete URL');
  }
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    refuseUrl(url, `its scheme is "${parsed.protocol}"`);
  }
  if (parsed.username !== '' || parsed.password !== '' || /^[^/?#]*\/\/[^/?#]*@/.test(url))
    refuseUrl(url, USER_INFO);
  // The parser also takes "https:host" and "https:///host".
  if (!/^https?:\/\/[^/?#]/i.test(url)) refuseUrl(url, 'it names no host after "//"');
}

const USER_INFO =
  'it carries a user name or a password, which would be seen by whoever sees the URL; keep them in a Secret and send them by headersFrom';

/** Why a URL is refused whose host is not known yet, or undefined: nothing before the host may be written in it. */
export function userInfoProblem(url: string): string | undefined {
  const { placeholders } = findPlaceholders(url);
  let written = url;
  for (const { start, end } of [...placeholders].reverse()) {
    written = `${written.slice(0, start)}x${written.slice(end)}`;
  }
  return inAuthority(written.split('@', 1)[0] ?? '') && written.includes('@') ? USER_INFO : undefined;
}

/**
 * A text with whatever stands before an "@" hidden, for messages. Where a URL is broken nobody knows where its user
 * information ends, so more is hidden than may be needed.
 */
export const withoutUserInfo = (text: string): string =>
  text.replace(/^([A-Za-z][A-Za-z0-9+.-]*:(?=[/\\]))?([/\\]*)[\s\S]*@/, '$1$2[hidden]@');

/** Whether the value of a `Host` header names the host of a URL, with or without its port. */
export function isHostOf(header: string, url: string): boolean {
  const { protocol, host } = new URL(url);
  const written = header.trim();
  if (!/^[^\s/?#\\@]+$/.test(written) || !URL.canParse(`${protocol}//${written}`)) return false;
  return new URL(`${protocol}//${written}`).host === host;
}

function refuseUrl(url: string, why: string): never {
  throw new RenderError(
    'InvalidURL',
    `URL ${quote(withoutUserInfo(url))}: ${why}; allowed are http and https URLs such as https://host:port/path`,
  );
}

function refuse(placeholder: string, value: string, why: string): never {
  throw new RenderError('InvalidURL', `${placeholder} with value ${quote(value)}: ${why}; correct the value`);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
