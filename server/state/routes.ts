/** `/state/v1/<workspace>`: the backend `http` of engines, and what the command line needs besides (T9.2, T9.3). */
import { MAX_STATE_BYTES } from '../../api/terraform/bounds.js';
import { STATES_PATH } from '../../api/terraform/run-pin.js';
import type { VersionRow, WorkspaceRow } from '../../store/rows.js';
import { allow, type Caller } from '../auth/callers.js';
import type { ServerContext } from '../context.js';
import { parseBody, readAll, readBytes, readJson, withMd5 } from '../http/bodies.js';
import { Refusal } from '../http/refusal.js';
import { json, type Answer, type Route, type RouteRequest } from '../http/route.js';
import { freeBody, workspaceBody } from '../runs/bodies.js';
import { slotView } from '../runs/routes.js';
import { keepState, lookThrough, withSerial } from '../state-reading.js';
import { holderOf, lockBody } from './lock-info.js';

const MAX_SMALL_BYTES = 64 * 1024;

/** A workspace that is asked about. */
interface Asked extends RouteRequest {
  workspace: string;
  row: WorkspaceRow;
}

/** Routes of states. */
export function stateRoutes(context: ServerContext): Route[] {
  const { store } = context;
  const { slots, versions } = store;

  const route = (method: string, path: string, handle: (asked: Asked) => Promise<Answer>): Route => ({
    method,
    name: `state ${method} ${path.replace(/\/.*/, '')}`.trim(),
    pattern: new RegExp(
      `^${STATES_PATH}/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})${path === '' ? '' : `/${path}`}$`,
    ),
    async handle(request) {
      const [workspace = '', ...parts] = request.parts;
      return handle({ ...request, parts, workspace, row: await slots.slot(workspace) });
    },
  });

  return [
    route('GET', '', async ({ workspace, row, caller }) => {
      if (caller.purpose !== 'worker') await allowPerson(context, caller, row, 'get');
      return stateOf(context, workspace, await versions.newest(workspace));
    }),
    route('POST', '', (asked) => postState(context, asked)),
    route('DELETE', '', () =>
      Promise.resolve(json({ error: { reason: 'BadRequest', message: 'a state is never deleted' } }, 405)),
    ),
    route('LOCK', '', (asked) => lock(context, asked)),
    route('UNLOCK', '', (asked) => unlock(context, asked)),
    route('GET', 'versions', async ({ workspace, row, caller }) => {
      await allowPerson(context, caller, row, 'get');
      return json({ versions: (await versions.list(workspace)).map(versionView) });
    }),
    route('GET', 'versions/(\\d{1,10})', async ({ workspace, row, caller, parts }) => {
      await allowPerson(context, caller, row, 'get');
      return stateOf(context, workspace, await versionOf(context, workspace, Number(parts[0])));
    }),
    route('POST', 'rollback', (asked) => rollBack(context, asked)),
    route('GET', 'slot', async ({ workspace, row, caller }) => {
      if (caller.purpose !== 'worker' && caller.purpose !== 'bridge')
        await allowPerson(context, caller, row, 'get');
      return json(await slotView(context, workspace, row));
    }),
    route('PUT', 'workspace', async ({ workspace, caller, request }) => {
      allow(caller, 'bridge');
      const { namespace, name, locked } = await readJson(request, {
        schema: workspaceBody,
        maxBytes: MAX_SMALL_BYTES,
      });
      const row = await slots.describe(workspace, {
        object: { namespace, name },
        ...(locked !== undefined && { locked }),
      });
      return json(await slotView(context, workspace, row));
    }),
    route('POST', 'free', async ({ workspace, caller, request }) => {
      allow(caller, 'bridge');
      const { turn } = await readJson(request, { schema: freeBody, maxBytes: MAX_SMALL_BYTES });
      return json(await slotView(context, workspace, await slots.free(workspace, turn)));
    }),
  ];
}

/** What a person wants: parts of a workspace are `workspaces/state`, the rest is the workspace itself. */
type PersonVerb = 'get' | 'update' | 'unlock';

/** @returns who it is */
async function allowPerson(
  { reviewPerson }: ServerContext,
  caller: Caller,
  { object }: WorkspaceRow,
  verb: PersonVerb,
): Promise<string> {
  if (caller.purpose !== 'person')
    throw new Refusal('Forbidden', `this is for a person of the cluster, not for ${caller.purpose}`);
  if (object === undefined)
    throw new Refusal('UnknownOperation', 'the server knows no workspace of this uid: it has had no run yet');
  const review = await reviewPerson(caller.token, {
    ...{ verb, resource: 'workspaces', ...object },
    ...(verb !== 'unlock' && { subresource: 'state' }),
  });
  if (review.kind === 'allowed') return review.user;
  throw new Refusal(review.status === 401 ? 'Unauthenticated' : 'Forbidden', review.message);
}

/** Whether a person has a right that they need not have. */
const mayPerson = (context: ServerContext, asked: Asked, verb: PersonVerb): Promise<boolean> =>
  allowPerson(context, asked.caller, asked.row, verb).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Refusal) return false;
      throw error;
    },
  );

function stateOf(
  { store }: ServerContext,
  workspace: string,
  version: VersionRow | undefined,
): Promise<Answer> {
  if (version === undefined) return Promise.resolve({ kind: 'nothing' });
  const { digest, bytes } = version.content;
  const source = store.versions.read(workspace, version);
  return Promise.resolve({ kind: 'bytes', source, digest, bytes, type: 'application/json' });
}

async function versionOf({ store }: ServerContext, workspace: string, n: number): Promise<VersionRow> {
  const version = await store.versions.version(workspace, n);
  if (version === undefined) throw new Refusal('NotStored', `there is no version ${n}`);
  return version;
}

/** A version as it is listed. */
const versionView = ({ n, kind, content, facts, resourceCount, at, turn, by, rollbackOf }: VersionRow) => ({
  ...{
    version: n,
    kind,
    digest: content.digest,
    sizeBytes: content.bytes,
    ...facts,
    resourceCount,
    at,
    turn,
    by,
  },
  ...(rollbackOf !== undefined && { rollbackOf }),
});

async function postState(
  context: ServerContext,
  { workspace, row, caller, query, request }: Asked,
): Promise<Answer> {
  const user = await allowPerson(context, caller, row, 'update');
  const lockId = lockOf(query);
  const md5 = request.headers['content-md5'];
  const source = withMd5(readBytes(request, MAX_STATE_BYTES), typeof md5 === 'string' ? md5 : undefined);
  const state = await keepState(context.store.contents, workspace, source).catch((error: unknown) => {
    // To an engine all that may not be stored is one thing: a conflict.
    const isOfBody = error instanceof Refusal && ['NotWhole', 'DigestMismatch'].includes(error.reason);
    throw isOfBody ? new Refusal('StateRefused', error.message) : error;
  });
  const version = await context.store.versions.addByPerson(workspace, { lock: lockId, user }, state);
  context.log.info(
    { workspace, user, version: version.n, serial: version.facts.serial },
    'a person has stored a state',
  );
  return json({});
}

function lockOf(query: URLSearchParams): string {
  const id = query.get('ID') ?? '';
  if (id === '') throw new Refusal('NotHolder', 'a state is stored under a lock: ?ID= names it');
  return id;
}

async function lock(context: ServerContext, asked: Asked): Promise<Answer> {
  const { workspace, row, request, caller } = asked;
  const user = await allowPerson(context, caller, row, 'update');
  const body = await readJson(request, { schema: lockBody, maxBytes: MAX_SMALL_BYTES });
  const mayMend = row.held?.kind === 'recovery' && (await mayPerson(context, asked, 'unlock'));
  const taken = await context.store.slots.lock(workspace, {
    ...{ id: body.ID, info: JSON.stringify(body), user, mayMend },
  });
  return taken.kind === 'locked' ? json({}) : json(holderOf(taken.row), 423);
}

async function unlock(context: ServerContext, asked: Asked): Promise<Answer> {
  const { workspace, row, request, caller } = asked;
  const user = await allowPerson(context, caller, row, 'update');
  // Engines say nothing of the length of a body that they do not have.
  const body = await readAll(request, MAX_SMALL_BYTES);
  const isForced = body.length === 0;
  if (isForced) await allowPerson(context, caller, row, 'unlock');
  const id = isForced ? undefined : parseBody(body, lockBody).ID;
  await context.store.slots.unlock(workspace, id);
  if (isForced) context.log.info({ workspace, user, held: row.held?.kind }, 'a person has forced an unlock');
  return json({});
}

/** Old bytes as the newest state: of all of them only the digits of the serial change (T8.5, T9.3). */
async function rollBack(context: ServerContext, { workspace, row, caller, query }: Asked): Promise<Answer> {
  const { versions, contents } = context.store;
  const user = await allowPerson(context, caller, row, 'update');
  const lockId = lockOf(query);
  const old = await versionOf(context, workspace, Number(query.get('version') ?? NaN));
  const newest = await versions.newest(workspace);
  if (newest === undefined) throw new Refusal('NotStored', 'the workspace has no state');
  const { serial } = await lookThrough(versions.read(workspace, old));
  const bytes = withSerial(versions.read(workspace, old), serial, newest.facts.serial + 1);
  const state = await keepState(contents, workspace, bytes);
  const version = await versions.addByPerson(workspace, { lock: lockId, user, rollbackOf: old.n }, state);
  context.log.info({ workspace, user, to: old.n, version: version.n }, 'a person has rolled a state back');
  return json(versionView(version));
}
