/** A `drover-server` of a test's own, on files, in this process; and what bridge and worker say to it. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { DIGEST_HEADER } from '../../../api/terraform/operation.js';
import { keyFolder } from '../../../runtime/encryption/key-folder.js';
import { openKeyRing, type KeyRing } from '../../../runtime/encryption/key-ring.js';
import { createLog } from '../../../runtime/log.js';
import { mintToken, type TokenBearer } from '../../../runtime/server-tokens.js';
import type { ReviewPerson } from '../../../server/auth/callers.js';
import { createServerMetrics } from '../../../server/metrics.js';
import { LOGS } from '../../../server/open-store.js';
import { createDroverServer } from '../../../server/server.js';
import type { Backend } from '../../../store/backend.js';
import { openFileBackend } from '../../../store/files/file-backend.js';
import { openStateStore, type StateStore } from '../../../store/state-store.js';

/** An answer. */
export interface Asked {
  status: number;
  headers: Headers;
  bytes: Buffer;
  /** Of JSON. */
  body: Record<string, unknown>;
}

/** Somebody with a token. */
export type Ask = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Asked>;

/** A server that listens. */
export interface OwnServer {
  url: string;
  store: StateStore;
  ring: KeyRing;
  /** Somebody with a token of the server. */
  as: (bearer: TokenBearer) => Ask;
  /** Somebody with any token. */
  withToken: (token: string) => Ask;
  bridge: Ask;
  worker: Ask;
  close: () => Promise<void>;
}

export const digestOf = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');

/** A folder with a ring of one key. */
export async function makeKeys(folder: string): Promise<string> {
  const keys = join(folder, 'keys');
  await mkdir(keys, { recursive: true });
  await writeFile(join(keys, 'k1'), randomBytes(32).toString('base64'), { flag: 'wx' }).catch(
    () => undefined,
  );
  return keys;
}

export const ringIn = (keys: string): Promise<KeyRing> =>
  openKeyRing({ source: keyFolder(keys), onFault: () => undefined });

/** Starts a server on a free port of loopback. */
export async function startOwnServer(options: {
  folder: string;
  reviewPerson?: ReviewPerson;
  openBackend?: () => Promise<Backend>;
}): Promise<OwnServer> {
  const {
    folder,
    reviewPerson = () => Promise.resolve({ kind: 'refused', status: 401, message: 'no people here' }),
    openBackend = () => openFileBackend({ folder: join(folder, 'store') }),
  } = options;
  const ring = await ringIn(await makeKeys(folder));
  const store = await openStateStore({ backend: await openBackend(), ring, ...LOGS });
  const http = createDroverServer(
    { store, ring, reviewPerson, log: createLog({ component: 'server', level: 'fatal' }) },
    { metrics: createServerMetrics(new Registry()) },
  );
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const withToken = (token: string): Ask => askWith(url, () => Promise.resolve(token));
  const as = (bearer: TokenBearer): Ask => askWith(url, () => mintToken(ring, bearer));
  return {
    ...{ url, store, ring, as, withToken },
    bridge: as({ purpose: 'bridge', id: '' }),
    worker: as({ purpose: 'worker', id: '' }),
    async close() {
      await new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      });
      await store.close();
    },
  };
}

/** Asks a server; bytes are sent with their digest. */
export function askWith(url: string, token: () => Promise<string>): Ask {
  return async (method, path, body, headers = {}) => {
    const isBytes = body instanceof Uint8Array;
    const response = await fetch(new URL(path, url), {
      method,
      headers: {
        authorization: `Bearer ${await token()}`,
        ...(isBytes && { [DIGEST_HEADER]: digestOf(body) }),
        ...headers,
      },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      body: isJson ? (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>) : {},
    };
  };
}

/** The body of an answer that must be a good one. @throws Error that says what was answered instead */
export async function good(asked: Promise<Asked>): Promise<Record<string, unknown>> {
  const { status, body } = await asked;
  if (status >= 300) throw new Error(`the server answered ${status}: ${JSON.stringify(body)}`);
  return body;
}
