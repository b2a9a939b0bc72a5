import { createHash } from 'node:crypto';
import { Agent, EnvHttpProxyAgent, fetch, type Dispatcher } from 'undici';

/** How to fetch files; one per search, so that a host found dead is asked once only. */
export interface Downloader {
  /**
   * Fetches a whole file.
   *
   * @throws Error within about 3 s when the host cannot be reached, at once when it could not before.
   */
  fetch(url: string, options?: { accept?: string; onBytes?: (received: number) => void }): Promise<Buffer>;
  close(): Promise<void>;
}

const connectTimeoutMs = 3000;
/** From the request to the first byte of the answer, name resolution and redirects included. */
const answerTimeoutMs = 8000;
/** A download that receives nothing for this long is given up. */
const stallTimeoutMs = 20_000;

/** Makes a {@link Downloader}; `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` are honoured. */
export function createDownloader(env: NodeJS.ProcessEnv = process.env): Downloader {
  const proxied = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].some((name) => env[name]);
  const connect = { timeout: connectTimeoutMs };
  const options = { connect, bodyTimeout: stallTimeoutMs };
  const dispatcher: Dispatcher = proxied ? new EnvHttpProxyAgent(options) : new Agent(options);
  const dead = new Map<string, string>();
  return {
    async fetch(url, { accept, onBytes } = {}) {
      const host = new URL(url).host;
      const reason = dead.get(host);
      if (reason !== undefined) throw new Error(`${host} cannot be reached (${reason})`);
      const controller = new AbortController();
      const timer = setTimeout(
        () => controller.abort(new Error(`no answer for ${answerTimeoutMs / 1000} s`)),
        answerTimeoutMs,
      );
      let response;
      try {
        response = await fetch(url, {
          dispatcher,
          headers: accept === undefined ? {} : { accept },
          signal: controller.signal,
        });
      } catch (error) {
        const cause = (error as { cause?: { code?: string; message?: string } }).cause;
        const why = cause?.code ?? cause?.message ?? (error as Error).message;
        dead.set(host, why);
        throw new Error(`${host} cannot be reached (${why})`, { cause: error });
      } finally {
        clearTimeout(timer);
      }
      if (!response.ok) throw new Error(`${url} answered ${response.status}`);
      const chunks: Uint8Array[] = [];
      let received = 0;
      for await (const chunk of response.body ?? []) {
        const bytes = chunk as Uint8Array;
        chunks.push(bytes);
        received += bytes.length;
        onBytes?.(received);
      }
      return Buffer.concat(chunks);
    },
    close: () => dispatcher.destroy(),
  };
}

/** @throws Error when the content's SHA-256 is not the one that was published. */
export function checkDigest(content: Buffer, expected: string, what: string): void {
  const actual = createHash('sha256').update(content).digest('hex');
  if (actual !== expected.toLowerCase()) {
    throw new Error(
      `${what} has SHA-256 ${actual} where ${expected} was published; it was not used. ` +
        `Try again, and if it stays so do not trust the source`,
    );
  }
}
