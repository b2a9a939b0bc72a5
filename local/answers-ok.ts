import { fetch, type Dispatcher } from 'undici';

const TIMEOUT_MS = 2000;

/**
 * Whether a URL answers 200.
 *
 * @param dispatcher for a server that wants a client certificate
 * @throws Error that says why nothing answers within 2 s
 */
export async function answersOk(url: string, dispatcher?: Dispatcher): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { signal, ...(dispatcher !== undefined && { dispatcher }) });
    await response.text();
    return response.status === 200;
  } catch (error) {
    const { cause, message, name } = error as Error & { cause?: { code?: string; message?: string } };
    const why = name === 'TimeoutError' ? 'no answer in time' : cause?.message || cause?.code || message;
    throw new Error(`${url} cannot be reached: ${why}`, { cause: error });
  }
}
