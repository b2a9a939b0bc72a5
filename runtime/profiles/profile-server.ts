/** Profiles on demand, for those who may: a port of its own, on the loopback interface alone. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { listen } from '../listen.js';
import { takeHeapSnapshot, takeProfile, threadNames } from './take-profile.js';

/** Whether a caller may read a path. */
export type AuthorizeProfile = (request: {
  /** Token of `Authorization: Bearer`. */
  token: string | undefined;
  path: string;
}) => Promise<{ kind: 'allowed'; user: string } | { kind: 'refused'; status: 401 | 403; message: string }>;

/** A server for profiles. */
export interface ProfileServer {
  port: number;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const MAX_SECONDS = 300;
const DEFAULT_SECONDS = 30;

/**
 * Paths of ours rather than `/debug/pprof/…`: rights on those were given for what Kubernetes serves there, which holds no
 * memory.
 */
const PATHS = {
  '/drover/profiles': 'list',
  '/drover/profiles/cpu': 'cpu',
  '/drover/profiles/heap': 'heap',
  '/drover/profiles/heapsnapshot': 'heapsnapshot',
} as const;
type What = (typeof PATHS)[keyof typeof PATHS];

const HELP = `GET /drover/profiles/cpu?seconds=${DEFAULT_SECONDS}&thread=main    .cpuprofile: where time goes
GET /drover/profiles/heap?seconds=${DEFAULT_SECONDS}&thread=main   .heapprofile: where memory in use was taken
GET /drover/profiles/heapsnapshot               .heapsnapshot: all memory of the main thread, secrets included`;

/**
 * Serves profiles of this process. One is taken at a time.
 *
 * @param options.name of the program, which files are named after
 */
export async function serveProfiles(options: {
  port: number;
  name: string;
  authorize: AuthorizeProfile;
  log: Pick<Logger, 'info' | 'warn'>;
}): Promise<ProfileServer> {
  const { log } = options;
  const state: State = { isBusy: false };
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    answer(request, response, { ...options, state }).catch((error: unknown) => {
      log.warn({ err: error }, 'a profile could not be taken');
      if (response.headersSent) response.destroy();
      else send(response, 500, error instanceof Error ? error.message : String(error));
    });
  });
  await listen(server, { host: HOST, port: options.port, setting: '--profile-port' });
  const { port } = server.address() as AddressInfo;
  log.info({ port }, 'profiles can be taken on the loopback interface');
  return { port, close: () => closeServer(server) };
}

interface State {
  isBusy: boolean;
}

interface Context {
  name: string;
  authorize: AuthorizeProfile;
  log: Pick<Logger, 'info'>;
  state: State;
}

async function answer(request: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  const { pathname: path, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const what = Object.hasOwn(PATHS, path) ? PATHS[path as keyof typeof PATHS] : undefined;
  if (what === undefined) return send(response, 404, HELP);
  if (request.method !== 'GET') return send(response, 405, 'expects GET');
  const review = await judge(request, path, context.authorize);
  if (review.kind === 'refused') {
    if (review.status === 401) response.setHeader('www-authenticate', 'Bearer');
    return send(response, review.status, review.message);
  }
  if (context.state.isBusy)
    return send(response, 409, 'another profile is being taken; try again when it is there');
  context.state.isBusy = true;
  try {
    await take(what, searchParams, { response, user: review.user, ...context });
  } finally {
    context.state.isBusy = false;
  }
}

async function judge(
  { headers }: IncomingMessage,
  path: string,
  authorize: AuthorizeProfile,
): Promise<Awaited<ReturnType<AuthorizeProfile>> | { kind: 'refused'; status: 503; message: string }> {
  const token = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
  try {
    return await authorize({ token, path });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: 'refused', status: 503, message: `the cluster cannot say whether you may: ${why}` };
  }
}

async function take(
  what: What,
  query: URLSearchParams,
  { response, user, name, log }: Context & { response: ServerResponse; user: string },
): Promise<void> {
  if (what === 'list') return send(response, 200, `${HELP}\nthreads: ${(await threadNames()).join(', ')}`);
  const seconds = Number(query.get('seconds') ?? DEFAULT_SECONDS);
  const thread = query.get('thread') ?? 'main';
  log.info({ user, profile: what, ...(what !== 'heapsnapshot' && { seconds, thread }) }, 'taking a profile');
  const file = (extension: string): Record<string, string> => ({
    'content-type': 'application/json',
    'content-disposition': `attachment; filename="${name}-${process.pid}-${Date.now()}.${extension}"`,
  });
  if (what === 'heapsnapshot') {
    response.writeHead(200, file('heapsnapshot'));
    return pipeline(takeHeapSnapshot(), response);
  }
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_SECONDS)
    return send(
      response,
      400,
      `seconds=${JSON.stringify(query.get('seconds'))}: expected a whole number from 1 to ${MAX_SECONDS}`,
    );
  const gone = new AbortController();
  response.once('close', () => {
    gone.abort();
  });
  const profile = await takeProfile({ what, seconds, thread }, gone.signal).catch((error: unknown) => {
    // Nobody waits for it any more.
    if (gone.signal.aborted) return 'gone' as const;
    throw error;
  });
  if (profile === 'gone') return;
  if (profile === undefined)
    return send(
      response,
      400,
      `thread=${JSON.stringify(thread)}: expected one of ${(await threadNames()).join(', ')}`,
    );
  response.writeHead(200, file(`${what}profile`)).end(JSON.stringify(profile));
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`);
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}
