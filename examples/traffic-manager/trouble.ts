/** Trouble that a request asks for in its URL, so that plans and tests can meet it on purpose. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './answer.js';

/** What goes wrong with one request. */
export interface Trouble {
  /** `?fail=503` or `?fail=drop`: the request fails without having had its effect. */
  before: Answer | 'drop' | undefined;
  /** With `&when=after`: the effect is made, and its answer is lost. */
  after: Answer | 'drop' | undefined;
  /** `?delay=2s`: waits before anything is done. */
  delay(gone: AbortSignal): Promise<void>;
  /** `?hold=2s`: waits between the effect and the answer. */
  hold(gone: AbortSignal): Promise<void>;
}

/**
 * Reads the trouble that URLs ask for. It counts requests: `?fail=503` fails always, `?fail=503&times=2` the first two
 * requests of that method and URL.
 */
export function createTroubles(): (method: string, url: URL) => Trouble {
  const seen = new Map<string, number>();

  function failureOf(method: string, { pathname, search, searchParams }: URL): Answer | 'drop' | undefined {
    const fail = searchParams.get('fail');
    if (fail === null) return undefined;
    const id = `${method} ${pathname}${search}`;
    const before = seen.get(id) ?? 0;
    seen.set(id, before + 1);
    const times = searchParams.get('times');
    if (times !== null && before >= Number(times)) return undefined;
    return fail === 'drop'
      ? 'drop'
      : { status: Number(fail) || 500, body: { error: 'failure asked for by the URL' } };
  }

  return (method, url) => {
    const failure = failureOf(method, url);
    const isAfter = url.searchParams.get('when') === 'after';
    const wait = (name: string, gone: AbortSignal): Promise<void> =>
      sleep(milliseconds(url.searchParams.get(name)), undefined, { signal: gone });
    return {
      before: isAfter ? undefined : failure,
      after: isAfter ? failure : undefined,
      delay: (gone) => wait('delay', gone),
      hold: (gone) => wait('hold', gone),
    };
  };
}

/** `2s`, `150ms` or a number of milliseconds; nothing is 0. */
export function milliseconds(text: string | null): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(text ?? '') ?? [];
  return number === undefined ? 0 : Number(number) * (unit === 's' ? 1000 : 1);
}
