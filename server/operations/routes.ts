/** `/ops/v1/<operation>/…` (T7.1, T7.3, T8.2, T8.4, T8.6). `api/terraform/operation.ts` has the protocol. */
import { MAX_RESULT_BYTES, MAX_STATE_BYTES } from '../../api/terraform/bounds.js';
import {
  OPERATIONS_PATH,
  type Operation,
  type OperationQuery,
  type PreparedOperation,
} from '../../api/terraform/operation.js';
import type { OperationResult } from '../../api/terraform/operation-result.js';
import { LOG_STREAMS, WRITTEN_ARTEFACTS, parseOperationId } from '../../api/terraform/operation-terms.js';
import type { RunPin } from '../../api/terraform/run-pin.js';
import { mintToken } from '../../runtime/server-tokens.js';
import { artefactName, readArtefact, storeArtefact } from '../artefacts.js';
import { allow, allowOperation, allowWorker, type Caller } from '../auth/callers.js';
import type { ServerContext } from '../context.js';
import { readBytes, readJson, saidDigest } from '../http/bodies.js';
import { Refusal } from '../http/refusal.js';
import { json, type Answer, type Route, type RouteRequest } from '../http/route.js';
import { madePlan, operationOf, pinnedRun, type PinnedRun } from '../runs/plans.js';
import { keepState } from '../state-reading.js';
import {
  beginBody,
  controlBody,
  finalStateBody,
  prepareBody,
  resultBody,
  revokeBody,
  syncBody,
} from './bodies.js';
import { recordOf, stateAnswerOf, viewOf, waitForChange } from './views.js';

const MAX_SMALL_BYTES = 64 * 1024;
/** A megabyte of text may be six of JSON. */
const MAX_SYNC_BODY_BYTES = 8 * 1024 ** 2;
const MAX_WAIT_S = 60;

/** An operation that is asked about. */
interface Asked extends RouteRequest {
  id: string;
  run: string;
  kind: 'plan' | 'apply';
}

/** The same with its run. */
interface AskedOfRun extends Asked, PinnedRun {}

/** Routes of operations. */
export function operationRoutes(context: ServerContext): Route[] {
  const { store } = context;
  const { operations } = store;

  /** For the bearer of the operation's token alone: the run need not be read. */
  const own = (method: string, path: string, handle: (asked: Asked) => Promise<Answer>): Route => ({
    method,
    name: `operation ${method} ${path.replace(/\/.*/, '')}`.trim(),
    pattern: new RegExp(`^${OPERATIONS_PATH}/([^/]+)${path === '' ? '' : `/${path}`}$`),
    async handle(request) {
      const [id = '', ...parts] = request.parts;
      const parsed = parseOperationId(id);
      if (parsed === undefined)
        throw new Refusal('UnknownOperation', `${JSON.stringify(id)} is no operation`);
      const { run, kind } = parsed;
      return handle({ ...request, parts, id, run, kind });
    },
  });
  const route = (method: string, path: string, handle: (asked: AskedOfRun) => Promise<Answer>): Route =>
    own(method, path, async (asked) => handle({ ...asked, ...(await pinnedRun(store, asked.run)) }));

  return [
    route('POST', 'prepare', (asked) => prepare(context, asked)),
    route('GET', '', async ({ id, caller, pin, query, signal }) => {
      allowMost(caller, id, pin);
      const { after, wait } = waitOf(query);
      return json(viewOf(await waitForChange(store, id, { after, waitMs: wait * 1000, signal })));
    }),
    own('POST', 'begin', (asked) => begin(context, asked)),
    own('POST', 'sync', async ({ id, caller, request }) => {
      allowOperation(caller, id);
      return json(
        await operations.sync(
          id,
          await readJson(request, { schema: syncBody, maxBytes: MAX_SYNC_BODY_BYTES }),
        ),
      );
    }),
    route('GET', 'state', async ({ id, caller, pin, workspace }) => {
      allowOperationOrWorker(caller, id, pin);
      const newest = await store.versions.newest(workspace);
      if (newest === undefined) return { kind: 'nothing' };
      const { digest, bytes } = newest.content;
      return { kind: 'bytes', source: store.versions.read(workspace, newest), digest, bytes };
    }),
    route('PUT', 'state', async ({ id, caller, pin, workspace, request }) => {
      allowOperationOrWorker(caller, id, pin);
      const accept = saidDigest(request);
      const state = await keepState(store.contents, workspace, readBytes(request, MAX_STATE_BYTES), accept);
      return json(stateAnswerOf(await store.versions.addTemp(workspace, id, state)));
    }),
    route('POST', 'state', async ({ id, caller, pin, workspace, request }) => {
      allowOperationOrWorker(caller, id, pin);
      const { digest } = await readJson(request, { schema: finalStateBody, maxBytes: MAX_SMALL_BYTES });
      return json(stateAnswerOf(await store.versions.makeFinal(workspace, id, digest)));
    }),
    route('GET', 'artefact/([^/]+)', ({ id, run, caller, pin, workspace, parts }) => {
      allowOperationOrWorker(caller, id, pin);
      return readArtefact(store, { run, workspace, name: artefactName(parts[0] ?? '') });
    }),
    route('PUT', 'artefact/([^/]+)', (asked) => putArtefact(context, asked)),
    route('PUT', 'result', (asked) => putResult(context, asked)),
    route('POST', 'revoke', (asked) => revoke(context, asked)),
    route('POST', 'control', async ({ id, caller, request }) => {
      allow(caller, 'bridge');
      const order = await readJson(request, { schema: controlBody, maxBytes: MAX_SMALL_BYTES });
      const state = await operations.control(
        id,
        order.kind === 'kill' ? { kill: { reason: order.reason } } : { interrupt: order.order },
      );
      return json({ record: recordOf(state) });
    }),
    route('GET', 'log/([^/]+)', (asked) => readLog(context, asked)),
  ];
}

const allowOperationOrWorker = (caller: Caller, id: string, pin: RunPin): void =>
  caller.purpose === 'operation' ? allowOperation(caller, id) : allowWorker(caller, pin);

const allowMost = (caller: Caller, id: string, pin: RunPin): void =>
  caller.purpose === 'bridge' ? undefined : allowOperationOrWorker(caller, id, pin);

function waitOf(query: URLSearchParams): Required<OperationQuery> {
  const number = (name: string, byDefault: number, max: number): number => {
    const value = Number(query.get(name) ?? byDefault);
    if (!Number.isInteger(value) || value > max)
      throw new Refusal('BadRequest', `${name} must be a whole number up to ${max}`);
    return value;
  };
  return {
    after: number('after', -1, Number.MAX_SAFE_INTEGER),
    wait: Math.max(0, number('wait', 0, MAX_WAIT_S)),
  };
}

/** Makes an operation from what was pinned and stored, and hands out its token. */
async function prepare({ store, ring }: ServerContext, asked: AskedOfRun): Promise<Answer> {
  const { id, run, kind, caller, pin, request } = asked;
  allowWorker(caller, pin);
  const { executionMode, hostId } = await readJson(request, {
    schema: prepareBody,
    maxBytes: MAX_SMALL_BYTES,
  });
  if (executionMode !== pin.executionMode)
    throw new Refusal('Forbidden', `the run is pinned to mode ${pin.executionMode}, not ${executionMode}`);
  const known = await store.operations.ofRun(run);
  const isNew = !known.some((each) => each.id === id);
  const open = known.find((each) => each.id !== id && ['prepared', 'started'].includes(each.record.state));
  if (isNew && open !== undefined)
    throw new Refusal('Begun', `operation ${open.id} of the run is ${open.record.state}: end it first`);
  // A plan that is made anew takes the place of the one that was lost.
  if (isNew && kind === 'plan') await store.runs.discard(run, WRITTEN_ARTEFACTS);
  const spec = isNew ? await operationOf(store, { id, run, kind }) : undefined;
  const state = await store.operations.prepare({ id, run, kind, spec, hostId });
  const answer: PreparedOperation = {
    operation: state.operation.spec as Operation,
    record: recordOf(state),
    ...(executionMode !== 'k8s' && { token: await mintToken(ring, { purpose: 'operation', id }) }),
  };
  return json(answer);
}

/** The fence. Of an apply, the permit must be for the plan as it is stored now. */
async function begin({ store }: ServerContext, { id, run, kind, caller, request }: Asked): Promise<Answer> {
  allowOperation(caller, id);
  const { nonce, runner, engine, lineage, serial } = await readJson(request, {
    schema: beginBody,
    maxBytes: MAX_SMALL_BYTES,
  });
  const made = kind === 'apply' ? await madePlan(store, run) : undefined;
  // An engine that is another program than the plan's is as if the plan were another.
  const isOther = made !== undefined && made.engine.digest !== engine.digest;
  const state = await store.operations.begin(id, {
    ...{ nonce, runner, lineage, serial },
    ...(made !== undefined && !isOther && { planDigest: made.digest }),
  });
  return json({ record: recordOf(state) });
}

/** A plan writes while it goes on: what comes later is from a runner that was given up. */
async function putArtefact({ store }: ServerContext, asked: AskedOfRun): Promise<Answer> {
  const { id, run, kind, caller, pin, workspace, parts, request } = asked;
  allowOperationOrWorker(caller, id, pin);
  if (kind !== 'plan') throw new Refusal('Forbidden', 'an apply writes no artefacts');
  const { record } = (await store.operations.operation(id)).operation;
  if (record.state !== 'started')
    throw new Refusal(record.state === 'revoked' ? 'Revoked' : 'Ended', `operation ${id} is ${record.state}`);
  const name = artefactName(parts[0] ?? '', WRITTEN_ARTEFACTS);
  return json(await storeArtefact(store, { run, workspace, name, request }));
}

async function putResult(
  { store }: ServerContext,
  { id, kind, caller, pin, request }: AskedOfRun,
): Promise<Answer> {
  allowOperationOrWorker(caller, id, pin);
  const result = await readJson(request, { schema: resultBody, maxBytes: MAX_RESULT_BYTES });
  refuseForeign(result, id, kind);
  const hasBegun = result.end.kind !== 'refused';
  const state = await store.operations.end(id, { runner: result.runner, result, hasBegun });
  return json({ record: recordOf(state) });
}

function refuseForeign(result: OperationResult, id: string, kind: string): void {
  if (result.operation !== id || result.kind !== kind)
    throw new Refusal(
      'BadRequest',
      `the result is of ${result.kind} ${result.operation}, not of ${kind} ${id}`,
    );
}

async function revoke(
  { store }: ServerContext,
  { id, kind, caller, pin, request }: AskedOfRun,
): Promise<Answer> {
  allowMost(caller, id, pin);
  const order = await readJson(request, { schema: revokeBody, maxBytes: MAX_RESULT_BYTES });
  if (order.kind === 'revoke')
    return json({ record: recordOf(await store.operations.revoke(id, order.reason)) });
  const { proof, found } = order;
  if (found !== undefined) refuseForeign(found, id, kind);
  // Release is a person's word, and the bridge has it from the live object.
  if (proof.kind === 'released') allow(caller, 'bridge');
  const release = proof.kind === 'released' ? { release: { reason: proof.reason } } : {};
  const state = await store.operations.lose(id, { proof, ...(found !== undefined && { found }), ...release });
  return json({ record: recordOf(state) });
}

async function readLog({ store, reviewPerson }: ServerContext, asked: AskedOfRun): Promise<Answer> {
  const { id, caller, pin, parts, query } = asked;
  if (caller.purpose === 'person') {
    const { namespace, runName } = pin;
    const review = await reviewPerson(caller.token, {
      ...{ verb: 'get', resource: 'terraformruns', subresource: 'log', namespace, name: runName },
    });
    if (review.kind === 'refused')
      throw new Refusal(review.status === 401 ? 'Unauthenticated' : 'Forbidden', review.message);
  } else {
    allowMost(caller, id, pin);
  }
  const stream = LOG_STREAMS.find((each) => each === parts[0]);
  if (stream === undefined) throw new Refusal('BadRequest', `streams are ${LOG_STREAMS.join(' and ')}`);
  const offset = Number(query.get('offset') ?? 0);
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw new Refusal('BadRequest', 'offset must be a number of bytes');
  await store.operations.operation(id);
  return {
    kind: 'bytes',
    source: store.operations.log(id, stream, offset),
    type: 'text/plain; charset=utf-8',
  };
}
