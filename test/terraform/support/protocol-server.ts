/**
 * A server that says what `drover-server` says to runners, of one operation at a time, in memory. For tests of the runner
 * that must cut, hang or refuse a single request.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  DIGEST_HEADER,
  OPERATION_ERRORS,
  type BeginRequest,
  type Control,
  type Operation,
  type OperationErrorReason,
  type OperationRecord,
  type RevokeRequest,
  type SyncRequest,
} from '../../../api/terraform/operation.js';
import type { OperationResult } from '../../../api/terraform/operation-result.js';
import { createStateReader, refuseState, type StateFacts } from '../../../api/terraform/state.js';

/** A stored state. */
export interface StoredState {
  bytes: Buffer;
  digest: string;
  facts: StateFacts;
}

/** What the server knows of one operation. */
export interface KnownOperation {
  operation: Operation;
  record: OperationRecord;
  nonce?: string;
  control: Control;
  log: { out: Buffer; err: Buffer };
  syncs: (SyncRequest & { at: number })[];
  /** Contents for the time being, in the order in which they came. */
  temp: (StoredState & { at: number })[];
}

/** Answers instead of the server, or `undefined` to let it answer; a request that is not answered hangs. */
export type Meddler = (request: {
  what: string;
  operation: string;
}) => Promise<'hang' | 'cut' | number | undefined>;

/** A server that listens. */
export interface ProtocolServer {
  url: string;
  operations: Map<string, KnownOperation>;
  artefacts: Map<string, Buffer>;
  /** The newest final state. */
  state: StoredState | undefined;
  /** Asked before a request is heard, and after it was, before it is answered. */
  meddle: Meddler;
  meddleAfter: Meddler;
  /** What `begin` is refused with. */
  refuseBegin?: OperationErrorReason;
  /** Requests as they came, such as `POST begin`. */
  asked: string[];
  close(): Promise<void>;
}

class Refusal extends Error {
  readonly reason: OperationErrorReason;
  constructor(reason: OperationErrorReason, message: string = reason) {
    super(message);
    this.reason = reason;
  }
}

export const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Reads bytes as a state. */
export function storedState(bytes: Buffer): StoredState {
  const reader = createStateReader();
  reader.push(bytes);
  const reading = reader.end();
  if (reading.kind !== 'whole') throw new Refusal('NotWhole', reading.problem);
  return { bytes, digest: digestOf(bytes), facts: reading.facts };
}

/** Starts a server on a free port of loopback. */
export async function startProtocolServer(): Promise<ProtocolServer> {
  const server: ProtocolServer = {
    url: '',
    operations: new Map(),
    artefacts: new Map(),
    state: undefined,
    meddle: () => Promise.resolve(undefined),
    meddleAfter: () => Promise.resolve(undefined),
    asked: [],
    close: () => new Promise((resolve) => (http.closeAllConnections(), http.close(() => resolve()))),
  };
  const http = createServer((request, response) => void serve(server, request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return server;
}

async function serve(
  server: ProtocolServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, , , id = '', ...rest] = (request.url ?? '').split('/');
  const what = `${request.method} ${rest.join('/')}`;
  const body = await bodyOf(request).catch(() => undefined);
  if (body === undefined) return;
  server.asked.push(what);
  const meddled = await server.meddle({ what, operation: id });
  if (meddled === 'hang') return;
  if (meddled === 'cut') return void request.socket.destroy();
  try {
    if (typeof meddled === 'number') throw Object.assign(new Error('as the test wants'), { status: meddled });
    if (request.headers.authorization !== `Bearer token-of-${id}`) throw new Refusal('Unauthenticated');
    const known = server.operations.get(id);
    if (known === undefined) throw new Refusal('UnknownOperation');
    const answer = route(server, known, what, body, String(request.headers[DIGEST_HEADER] ?? ''));
    const after = await server.meddleAfter({ what, operation: id });
    if (after === 'hang') return;
    if (after === 'cut') return void request.socket.destroy();
    if (answer === undefined) response.writeHead(204).end();
    else if (Buffer.isBuffer(answer)) response.writeHead(200).end(answer);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  } catch (error) {
    const { status = 500 } = error as { status?: number };
    const reason = error instanceof Refusal ? error.reason : 'Unavailable';
    const code = error instanceof Refusal ? OPERATION_ERRORS[error.reason] : status;
    response.writeHead(code).end(JSON.stringify({ error: { reason, message: String(error) } }));
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function route(
  server: ProtocolServer,
  known: KnownOperation,
  what: string,
  body: Buffer,
  digest: string,
): unknown {
  const json = <T>(): T => JSON.parse(body.toString('utf8')) as T;
  const [, artefact] = /artefact\/(\w+)$/.exec(what) ?? [];
  const key = `${known.operation.run}/${artefact ?? ''}`;
  switch (artefact === undefined ? what : what.split(' ')[0]) {
    case 'GET': {
      const stored = server.artefacts.get(key);
      if (stored === undefined) throw new Refusal('NotStored');
      return stored;
    }
    case 'PUT': {
      if (digestOf(body) !== digest) throw new Refusal('DigestMismatch');
      server.artefacts.set(key, body);
      return { digest, bytes: body.length };
    }
    case 'POST begin':
      return begin(server, known, json<BeginRequest>());
    case 'POST sync':
      return sync(known, json<SyncRequest>());
    case 'GET state':
      return server.state?.bytes;
    case 'PUT state':
      return storeTemp(server, known, body, digest);
    case 'POST state':
      return finishState(server, known, json<{ digest: string }>().digest);
    case 'PUT result':
      return end(known, json<OperationResult>());
    case 'POST revoke':
      return revoke(known, json<RevokeRequest>());
    default:
      throw new Refusal('BadRequest', what);
  }
}

const now = (): string => new Date().toISOString();

function begin(
  server: ProtocolServer,
  known: KnownOperation,
  { nonce, runner, lineage, serial }: BeginRequest,
): unknown {
  const { record, operation } = known;
  if (record.state === 'revoked') throw new Refusal('Revoked', record.reason);
  if (known.nonce !== undefined && known.nonce !== nonce) throw new Refusal('OtherNonce');
  if (known.nonce === nonce) return { record };
  if (server.refuseBegin !== undefined) throw new Refusal(server.refuseBegin);
  const stored = server.state?.facts ?? { lineage: '', serial: 0 };
  if (operation.kind === 'apply' && (stored.lineage !== lineage || stored.serial !== serial))
    throw new Refusal('StaleState');
  known.nonce = nonce;
  known.record = { state: 'started', at: now(), runner };
  return { record: known.record };
}

function sync(known: KnownOperation, request: SyncRequest): unknown {
  known.syncs.push({ ...request, at: Date.now() });
  for (const stream of ['out', 'err'] as const) {
    const part = request.log[stream];
    const have = known.log[stream].length;
    if (part === undefined || part.offset > have) continue;
    known.log[stream] = Buffer.concat([
      known.log[stream],
      Buffer.from(part.text).subarray(have - part.offset),
    ]);
  }
  return { log: { out: known.log.out.length, err: known.log.err.length }, control: known.control };
}

function storeTemp(server: ProtocolServer, known: KnownOperation, body: Buffer, digest: string): unknown {
  if (digestOf(body) !== digest) throw new Refusal('DigestMismatch');
  const state = storedState(body);
  const refusal = refuseState(state.facts, server.state?.facts);
  if (refusal !== undefined) throw new Refusal('StateRefused', refusal.message);
  known.temp.push({ ...state, at: Date.now() });
  return { digest, facts: state.facts, isFinal: false };
}

function finishState(server: ProtocolServer, known: KnownOperation, digest: string): unknown {
  const found = [server.state, ...known.temp].find((state) => state?.digest === digest);
  if (found === undefined) throw new Refusal('NotStored');
  server.state = found;
  return { digest, facts: found.facts, isFinal: true };
}

function end(known: KnownOperation, result: OperationResult): unknown {
  if (known.record.state === 'ended' && JSON.stringify(known.record.result) !== JSON.stringify(result)) {
    throw new Refusal('Ended');
  }
  known.record = { state: 'ended', at: now(), result };
  return { record: known.record };
}

function revoke(known: KnownOperation, request: RevokeRequest): unknown {
  const { record } = known;
  if (request.kind === 'revoke') {
    if (record.state !== 'prepared' && record.state !== 'revoked') throw new Refusal('Begun');
    known.record = { state: 'revoked', at: now(), reason: request.reason };
  } else if (record.state === 'started') {
    known.record = { state: 'lost', at: now(), proof: request.proof, found: request.found };
  }
  return { record: known.record };
}
