/** Speaks to `drover-server` about one operation. Plain `node:http`: a runner is to be small. */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { isObject, parseJson } from '../api/core/json.js';
import { DIGEST_HEADER, OPERATIONS_PATH } from '../api/terraform/operation.js';
import type {
  BeginAnswer,
  BeginRequest,
  FinalStateRequest,
  RecordAnswer,
  RevokeRequest,
  StateAnswer,
  StoredAnswer,
  SyncAnswer,
  SyncRequest,
} from '../api/terraform/operation.js';
import type { OperationResult } from '../api/terraform/operation-result.js';
import type { ArtefactName, Digest } from '../api/terraform/operation-terms.js';
import type { RunnerOrder } from '../api/terraform/runner-order.js';
import { PRIVATE_FILE } from '../runtime/durable-files.js';

/** The server has answered, and refuses. Asking again gives the same answer. */
export class ServerRefused extends Error {
  override readonly name = 'ServerRefused';
  readonly status: number;
  /** Of `OperationError`, or `Unknown`. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/** The server was not reached, or has an error of its own: what was asked may have been done, and is asked again. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';
}

/** Requests of one operation. Each throws {@link ServerRefused} or {@link ServerUnavailable}. */
export interface ServerClient {
  begin(body: BeginRequest): Promise<BeginAnswer>;
  sync(body: SyncRequest): Promise<SyncAnswer>;
  result(body: OperationResult): Promise<RecordAnswer>;
  revoke(body: RevokeRequest): Promise<RecordAnswer>;
  /** Writes the newest final state into a file. @returns undefined where there is none */
  fetchState(path: string): Promise<Digest | undefined>;
  storeState(path: string, digest: Digest): Promise<StateAnswer>;
  finishState(body: FinalStateRequest): Promise<StateAnswer>;
  /** Writes an artefact into a file. @returns the digest of what was written */
  fetchArtefact(name: ArtefactName, path: string): Promise<Digest>;
  storeArtefact(name: ArtefactName, path: string, digest: Digest): Promise<StoredAnswer>;
  /** The digest of a stored artefact, worked out from its bytes. */
  artefactDigest(name: ArtefactName): Promise<Digest>;
  close(): void;
}

/** Longest silence of a connection, in milliseconds. */
const IDLE_MS = 10_000;
const MAX_ANSWER = 1 << 20;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * A client for an order's operation.
 *
 * @throws Error where the address is of no use, or would show the token to the network
 */
export async function createServerClient(
  order: Pick<RunnerOrder, 'server' | 'token'> & { operation: { id: string } },
): Promise<ServerClient> {
  const base = new URL(`${OPERATIONS_PATH}/${order.operation.id}/`, order.server.url);
  const isTls = base.protocol === 'https:';
  if (!isTls && !(base.protocol === 'http:' && LOOPBACK.test(base.hostname))) {
    throw new Error(`${order.server.url} is no address of a server: https, or http on loopback`);
  }
  const { caFile } = order.server;
  const ca = caFile === undefined ? undefined : await readFile(caFile);
  const agent = isTls ? new HttpsAgent({ keepAlive: true, ca }) : new HttpAgent({ keepAlive: true });
  const start = isTls ? httpsRequest : httpRequest;

  async function open(
    method: string,
    path: string,
    headers: Record<string, string | number>,
    send: (request: ClientRequest) => Promise<void> | void,
  ): Promise<IncomingMessage> {
    const token =
      order.token.kind === 'text' ? order.token.text : (await readFile(order.token.path, 'utf8')).trim();
    const options: RequestOptions = {
      method,
      agent,
      timeout: IDLE_MS,
      headers: { ...headers, authorization: `Bearer ${token}` },
    };
    return new Promise((resolve, reject) => {
      const request = start(new URL(path, base), options);
      request.once('response', resolve);
      request.once('error', reject);
      request.once('timeout', () => request.destroy(new Error(`no byte came for ${IDLE_MS / 1000} s`)));
      Promise.resolve(send(request)).catch((error: unknown) => request.destroy(error as Error));
    });
  }

  /** One request, its answer checked for a refusal. */
  async function ask<T>(
    what: { method: string; path: string; headers?: Record<string, string | number> },
    send: (request: ClientRequest) => Promise<void> | void,
    read: (answer: IncomingMessage) => Promise<T>,
  ): Promise<T> {
    const { method, path, headers = {} } = what;
    try {
      const answer = await open(method, path, headers, send);
      const status = answer.statusCode ?? 0;
      if (status >= 200 && status < 300) return await read(answer);
      const error = await errorOf(answer);
      if (status >= 500 || status === 429 || status === 408) throw new ServerUnavailable(error.message);
      throw new ServerRefused(status, error.reason, error.message);
    } catch (error) {
      if (error instanceof ServerRefused || error instanceof ServerUnavailable) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new ServerUnavailable(`${method} ${path}: ${message}`, { cause: error });
    }
  }

  const json = <T>(method: string, path: string, body: unknown): Promise<T> => {
    const text = JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    return ask({ method, path, headers }, (request) => void request.end(text), readJson<T>);
  };
  const upload = async <T>(path: string, file: string, digest: Digest): Promise<T> => {
    const headers = { 'content-type': 'application/octet-stream', [DIGEST_HEADER]: digest };
    return ask(
      { method: 'PUT', path, headers },
      (request) => pipeline(createReadStream(file), request),
      readJson<T>,
    );
  };
  const download = <T>(path: string, read: (answer: IncomingMessage) => Promise<T>): Promise<T> =>
    ask({ method: 'GET', path }, (request) => void request.end(), read);

  return {
    begin: (body) => json('POST', 'begin', body),
    sync: (body) => json('POST', 'sync', body),
    result: (body) => json('PUT', 'result', body),
    revoke: (body) => json('POST', 'revoke', body),
    fetchState: (path) =>
      download('state', async (answer) => {
        if (answer.statusCode === 204) {
          answer.resume();
          return undefined;
        }
        return readInto(answer, path);
      }),
    storeState: (path, digest) => upload('state', path, digest),
    finishState: (body) => json('POST', 'state', body),
    fetchArtefact: (name, path) => download(`artefact/${name}`, (answer) => readInto(answer, path)),
    storeArtefact: (name, path, digest) => upload(`artefact/${name}`, path, digest),
    artefactDigest: (name) => download(`artefact/${name}`, (answer) => readInto(answer, undefined)),
    close: () => agent.destroy(),
  };
}

/** Writes a body into a file, and works out its digest on the way. */
async function readInto(answer: IncomingMessage, path: string | undefined): Promise<Digest> {
  const hash = createHash('sha256');
  const counted = async function* (source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const chunk of source) {
      hash.update(chunk);
      yield chunk;
    }
  };
  if (path === undefined) for await (const _ of counted(answer)) void _;
  else await pipeline(answer, counted, createWriteStream(path, { mode: PRIVATE_FILE }));
  return hash.digest('hex');
}

async function readJson<T>(answer: IncomingMessage): Promise<T> {
  const value = parseJson(await readText(answer));
  if (!isObject(value)) throw new ServerUnavailable('the answer is no object of JSON');
  return value as T;
}

async function errorOf(answer: IncomingMessage): Promise<{ reason: string; message: string }> {
  const value = parseJson(await readText(answer));
  const error = isObject(value) && isObject(value.error) ? value.error : {};
  return {
    reason: typeof error.reason === 'string' ? error.reason : 'Unknown',
    message: typeof error.message === 'string' ? error.message : `it answered ${answer.statusCode}`,
  };
}

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER) throw new ServerUnavailable(`the answer is longer than ${MAX_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
