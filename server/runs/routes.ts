/** `/runs/v1/<run>/…` (T2.6, T3.3, T3.4, T5.1, T6.5). `api/terraform/run-pin.ts` has the protocol. */
import { RUNS_PATH, type RunPin, type RunSnapshot, type SlotView } from '../../api/terraform/run-pin.js';
import { artefactName, readArtefact, storeArtefact } from '../artefacts.js';
import { allow, allowWorker, type Caller } from '../auth/callers.js';
import type { ServerContext } from '../context.js';
import { readJson } from '../http/bodies.js';
import { Refusal } from '../http/refusal.js';
import { json, type Answer, type Route, type RouteRequest } from '../http/route.js';
import type { WorkspaceRow } from '../../store/rows.js';
import { grantBody, permitBody, pinBody, releaseBody, snapshotBody } from './bodies.js';
import { artefactOf, madePlan, pinnedRun, snapshotOf, type PinnedRun } from './plans.js';

const MAX_PIN_BYTES = 4 * 1024 ** 2;
const MAX_SMALL_BYTES = 256 * 1024;
const FETCHED = ['archive', 'variables'] as const;

/** A run that is asked about. */
interface Asked extends RouteRequest, PinnedRun {
  run: string;
}

/** Routes of runs. */
export function runRoutes(context: ServerContext): Route[] {
  const { store } = context;
  const { runs, slots } = store;

  const route = (method: string, path: string, handle: (asked: Asked) => Promise<Answer>): Route => ({
    method,
    name: `run ${method} ${path.replace(/\/.*/, '')}`,
    pattern: patternOf(path),
    async handle(request) {
      const [run = '', ...parts] = request.parts;
      return handle({ ...request, parts, run, ...(await pinnedRun(store, run)) });
    },
  });

  return [
    {
      method: 'PUT',
      name: 'run PUT pin',
      pattern: patternOf('pin'),
      handle: (asked) => putPin(context, asked),
    },
    route('GET', 'pin', ({ caller, pin }) => {
      allowReader(caller, pin);
      return Promise.resolve(json(pin));
    }),
    route('PUT', 'artefact/([^/]+)', async ({ run, workspace, caller, pin, parts, request }) => {
      // A pool fetches nothing: that is done as the account, on the main queue.
      allow(caller, 'worker');
      const name = artefactName(parts[0] ?? '', FETCHED);
      if (
        (await snapshotOf(store, pin.run)) !== undefined &&
        (await artefactOf(store, run, name)) === undefined
      )
        throw new Refusal('OtherDigest', `run ${run} has its snapshot, which has no ${name}`);
      return json(await storeArtefact(store, { run, workspace, name, request }));
    }),
    route('GET', 'artefact/([^/]+)', ({ run, workspace, caller, pin, parts }) => {
      allowReader(caller, pin);
      return readArtefact(store, { run, workspace, name: artefactName(parts[0] ?? '') });
    }),
    route('POST', 'snapshot', (asked) => postSnapshot(context, asked)),
    route('GET', 'snapshot', async ({ run, caller, pin }) => {
      allowReader(caller, pin);
      return json(await orNotStored(snapshotOf(store, run), `run ${run} has no snapshot`));
    }),
    route('GET', 'plan', async ({ run, caller, pin }) => {
      allowReader(caller, pin);
      const { digest, facts } = await orNotStored(madePlan(store, run), `run ${run} has no plan`);
      return json({ planDigest: digest, plan: facts });
    }),
    route('PUT', 'permit', async ({ run, caller, request }) => {
      allow(caller, 'bridge');
      const permit = await readJson(request, { schema: permitBody, maxBytes: MAX_SMALL_BYTES });
      return json(await runs.putOnce(run, 'permit', permit));
    }),
    route('GET', 'permit', async ({ run, caller, pin }) => {
      allowReader(caller, pin);
      return json(await orNotStored(runs.once(run, 'permit'), `run ${run} has no permit`));
    }),
    route('GET', 'slot', async ({ workspace, caller, pin }) => {
      allowReader(caller, pin);
      return json(await slotView(context, workspace));
    }),
    route('POST', 'slot', async ({ run, workspace, caller, pin, request }) => {
      allow(caller, 'worker');
      const { turn } = await readJson(request, { schema: grantBody, maxBytes: MAX_SMALL_BYTES });
      if (pin.type !== 'plan_and_apply')
        throw new Refusal('BadRequest', `a ${pin.type} needs no slot: it changes nothing`);
      return json(
        await slotView(
          context,
          workspace,
          await slots.grant(workspace, { run, turn, reconcile: pin.isReconcile }),
        ),
      );
    }),
    route('POST', 'release', async ({ run, workspace, caller, request }) => {
      allow(caller, 'worker');
      const release = await readJson(request, { schema: releaseBody, maxBytes: MAX_SMALL_BYTES });
      return json(await slotView(context, workspace, await slots.release(workspace, { run, ...release })));
    }),
    route('POST', 'finish', async ({ run, caller }) => {
      allow(caller, 'bridge');
      await runs.finish(run);
      return json({});
    }),
  ];
}

const patternOf = (path: string): RegExp =>
  new RegExp(`^${RUNS_PATH}/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/${path}$`);

function allowReader(caller: Caller, pin: RunPin): void {
  if (caller.purpose !== 'bridge') allowWorker(caller, pin);
}

async function orNotStored<T>(found: Promise<T | undefined>, message: string): Promise<T> {
  const value = await found;
  if (value === undefined) throw new Refusal('NotStored', message);
  return value;
}

async function putPin({ store }: ServerContext, { caller, parts, request }: RouteRequest): Promise<Answer> {
  allow(caller, 'bridge');
  const [run = ''] = parts;
  const pin = await readJson(request, { schema: pinBody, maxBytes: MAX_PIN_BYTES });
  if (pin.run !== run) throw new Refusal('BadRequest', `the pin is of run ${pin.run}, not of ${run}`);
  const { workspace, namespace, workspaceName: name } = pin;
  await store.slots.locate(workspace, { namespace, name });
  return json((await store.runs.pin(run, workspace, pin)).pin);
}

/** What was fetched, with the state that there is and the providers of the last apply. The first counts. */
async function postSnapshot({ store }: ServerContext, asked: Asked): Promise<Answer> {
  const { run, workspace, caller, request } = asked;
  allow(caller, 'worker');
  const { archive, variables } = await readJson(request, { schema: snapshotBody, maxBytes: MAX_SMALL_BYTES });
  const before = await snapshotOf(store, run);
  if (before !== undefined) return json(before);
  for (const [name, digest] of Object.entries({ archive, variables })) {
    if ((await artefactOf(store, run, name))?.digest !== digest)
      throw new Refusal('NotStored', `run ${run} has no ${name} of digest ${digest}`);
  }
  const lockFile = await takeLockFile(store, asked);
  const newest = await store.versions.newest(workspace);
  const { lineage = '', serial = 0 } = newest?.facts ?? {};
  const snapshot: RunSnapshot = {
    ...{ archive, variables, lineage, serial, at: new Date().toISOString() },
    ...(lockFile !== undefined && { lockFile }),
  };
  return json(await store.runs.putOnce(run, 'snapshot', snapshot));
}

/** Copies the lock file of providers that the last apply had. */
async function takeLockFile(
  store: ServerContext['store'],
  { run, workspace }: Pick<Asked, 'run' | 'workspace'>,
): Promise<string | undefined> {
  const { lastApply } = await store.slots.slot(workspace);
  if (lastApply === undefined || lastApply === run) return undefined;
  const row = await artefactOf(store, lastApply, 'planLockFile');
  if (row === undefined) return undefined;
  const copy = await store.contents.keep(workspace, store.contents.read(workspace, row));
  return (await store.runs.putArtefact(run, 'lockFile', copy)).digest;
}

/** The slot of a workspace with what the newest state is. */
export async function slotView(
  { store }: Pick<ServerContext, 'store'>,
  workspace: string,
  known?: WorkspaceRow,
): Promise<SlotView> {
  const { turn, held, locked } = known ?? (await store.slots.slot(workspace));
  const newest = await store.versions.newest(workspace);
  return {
    turn,
    ...(held !== undefined && { held: heldView(held) }),
    ...(locked !== undefined && { locked }),
    ...(newest !== undefined && {
      state: {
        version: newest.n,
        lineage: newest.facts.lineage,
        serial: newest.facts.serial,
        turn: newest.turn,
        resourceCount: newest.resourceCount,
      },
    }),
  };
}

function heldView(held: NonNullable<WorkspaceRow['held']>): SlotView['held'] {
  const { kind, holder, since } = held;
  return { kind, holder, since, ...(held.kind === 'recovery' && { reason: held.reason }) };
}
