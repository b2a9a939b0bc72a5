/** Operations on the real engine: a workspace's files and state, runners as processes, and what came of them. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pack } from 'tar-stream';
import {
  judgeApply,
  judgePlan,
  type ApplyVerdict,
  type PlanVerdict,
} from '../../../api/terraform/verdict.js';
import type {
  ControlRequest,
  Operation,
  OperationRecord,
  PreparedOperation,
} from '../../../api/terraform/operation.js';
import type { Variable } from '../../../api/terraform/operation-terms.js';
import type { OperationResult } from '../../../api/terraform/operation-result.js';
import type { RunnerOrder, RunnerTimes } from '../../../api/terraform/runner-order.js';
import { createLog } from '../../../runtime/log.js';
import { findEngines } from '../../../runtime/engines.js';
import { processStart } from '../../../runtime/process-identity.js';
import { processesOfSession } from '../../../runtime/session.js';
import { folderPaths, type FolderPaths } from '../../../runner/folder.js';
import { exists } from '../../../runtime/durable-files.js';
import { salvage, type SalvageEnd } from '../../../runner/salvage.js';
import { createServerClient } from '../../../runner/server-client.js';
import { startRunner, writeOrder } from '../../../runner/start.js';
import { keepState } from '../../../server/state-reading.js';
import { startMeddlingProxy, type Meddler, type MeddlingProxy, type Seen } from './meddling-proxy.js';
import { digestOf, good, startOwnServer, type OwnServer } from './own-server.js';
import { HOST, bringPlan, makeRun, prepareApply, preparePlan, takePlan, type BakedPlan } from './runs.js';

/** Waits as long as a busy machine may take. */
const PATIENCE_MS = 60_000;

export async function until<T>(
  what: string,
  look: () => Promise<T | false | undefined> | T | false | undefined,
): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`waited for ${what} in vain`);
    await sleep(20);
  }
}

/** An operation, and how to look at it. */
export interface Piece {
  id: string;
  order: RunnerOrder;
  paths: FolderPaths;
  run: string;
  record: () => Promise<OperationRecord>;
  /** What the server was asked of it. */
  seen: () => Seen;
  /** By the bridge. */
  control: (order: ControlRequest) => Promise<void>;
  /** Makes its folder, as a worker does before it starts a runner. */
  prepare: () => Promise<void>;
  /** Starts a runner. @returns its pid */
  start: () => Promise<number>;
  /** The result, once the server has it. */
  result: () => Promise<OperationResult>;
  /** Ends it, its runner being dead. */
  salvage: () => Promise<SalvageEnd>;
  /** The process of the engine's main step, once it runs. */
  engine: () => Promise<number>;
  /** The same, or undefined where it does not run yet. */
  enginePid: () => Promise<number | undefined>;
  log: () => Promise<string>;
}

/** A workspace with its server. */
export interface Rig {
  /** What runners speak to. */
  proxy: MeddlingProxy;
  server: OwnServer;
  workspace: string;
  /** For files that configurations write. */
  scratch: string;
  plan: (options?: PieceOptions) => Promise<Piece>;
  /** The apply of a plan that has ended well. */
  apply: (plan: Piece, options?: PieceOptions) => Promise<Piece>;
  /** The apply of a plan of a configuration, made from the state that there is. */
  planned: (options: PieceOptions & { files: string }) => Promise<Piece>;
  /**
   * Kills a runner when it makes a request, before the server has heard it, or after it has and before it answers.
   *
   * @returns when that has happened
   */
  killAt: (piece: Piece, request: string, when: 'before' | 'after') => Promise<void>;
  /** From now on the server answers as it should. */
  heal: () => void;
  /** Lines of a file in `scratch`: what happened how often. */
  happened: (file: string) => Promise<string[]>;
  /** The newest final state. */
  state: () => Promise<{ bytes: Buffer; digest: string } | undefined>;
  /** Puts a state there, as a person would. */
  setState: (bytes: Buffer) => Promise<void>;
  stateResources: () => Promise<
    {
      type: string;
      name: string;
      instances: { status?: string; index_key?: unknown }[];
    }[]
  >;
  close: () => Promise<void>;
}

/** Plans that were made once, to be applied in several tests: by their configuration, from no state. */
export type PlanCache = Map<string, Promise<BakedPlan>>;

export interface PieceOptions {
  /** The configuration: text of `main.tf`, or files by name. */
  files?: string | Record<string, string>;
  variables?: (Pick<Variable, 'key' | 'value'> & Partial<Variable>)[];
  operation?: Partial<Operation>;
  order?: Partial<RunnerOrder>;
  times?: Partial<RunnerTimes>;
  env?: NodeJS.ProcessEnv;
  /** Of an apply: default true. */
  isPermitted?: boolean;
}

/** Quicker than usual, so that no test waits. */
const TIMES: Partial<RunnerTimes> = { sync: 100, mirror: 20, endSession: 1000 };

/** The terraform of this machine. @throws Error, one clear line, where there is none */
export async function terraformHere(): Promise<{ name: 'terraform'; version: string; path: string }> {
  const { engines } = await findEngines(process.env);
  const found = engines.find(({ name }) => name === 'terraform');
  if (found === undefined) {
    throw new Error('no terraform in DROVER_ENGINES or on the PATH: install one to run these tests');
  }
  return { name: 'terraform', version: found.version, path: found.path };
}

async function archiveOf(files: Record<string, string>): Promise<Buffer> {
  const archive = pack();
  for (const [name, text] of Object.entries(files)) archive.entry({ name }, text);
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/**
 * @param cache where plans from no state are kept, so that each is made once
 */
export async function createRig(cache: PlanCache = new Map()): Promise<Rig> {
  const engine = await terraformHere();
  const root = await mkdtemp(join(tmpdir(), 'drover-runner-'));
  const server = await startOwnServer({ folder: join(root, 'server') });
  const proxy = await startMeddlingProxy(server.url);
  const workspace = randomUUID();
  const started: number[] = [];
  const options = new Map<string, PieceOptions>();
  /** Only one run at a time is given the slot. */
  let inTurn: Promise<unknown> = Promise.resolve();

  function piece({ operation: prepared, token }: Required<PreparedOperation>, given: PieceOptions): Piece {
    const operation = { ...prepared, ...given.operation, id: prepared.id };
    const { id, run } = operation;
    const folder = join(root, 'ops', id);
    const paths = folderPaths(folder);
    const order: RunnerOrder = {
      operation,
      server: { url: proxy.url },
      token: { kind: 'text', text: token },
      hostId: HOST,
      engine,
      passEnvironment: [],
      times: { ...TIMES, ...given.times },
      ...given.order,
    };
    const record = async (): Promise<OperationRecord> =>
      (await server.store.operations.operation(id)).operation.record as OperationRecord;
    return {
      ...{ id, run, order, paths, record },
      seen: () => proxy.seen(id),
      async control(body) {
        await good(server.bridge('POST', `/ops/v1/${id}/control`, body));
      },
      prepare: () => writeOrder(folder, order),
      async start() {
        await writeOrder(folder, order);
        const pid = await startRunner({ folder, order, env: { ...process.env, ...given.env } });
        started.push(pid);
        return pid;
      },
      result: () =>
        until(`the result of ${id}`, async () => {
          const now = await record();
          if (now.state === 'ended') return now.result;
          return now.state === 'lost' ? now.found : undefined;
        }),
      async salvage() {
        const client = await createServerClient(order);
        try {
          return await salvage({ folder, client, log: createLog({ component: 'salvage', level: 'fatal' }) });
        } finally {
          client.close();
        }
      },
      engine: () => until('the engine', () => enginePid(paths)),
      enginePid: () => enginePid(paths),
      log: async () => (await server.worker('GET', `/ops/v1/${id}/log/out`)).bytes.toString('utf8'),
    };
  }

  /** What the engine is told of a piece: its variables, and where it may note what it does. */
  const variablesOf = (given: PieceOptions): Variable[] =>
    [{ key: 'SCRATCH', value: root, variableType: 'environment' as const }, ...(given.variables ?? [])].map(
      (each): Variable => ({ variableType: 'terraform', valueFormat: 'string', sensitive: false, ...each }),
    );

  const inputsOf = async (given: PieceOptions): Promise<{ archive: Buffer; variables: Buffer }> => {
    const files = typeof given.files === 'string' ? { 'main.tf': given.files } : (given.files ?? {});
    return { archive: await archiveOf(files), variables: Buffer.from(JSON.stringify(variablesOf(given))) };
  };

  /** A run of the workspace; the slot is its own, and was that of the run before. */
  function runOf(given: PieceOptions): Promise<string> {
    const { plan, engine: wanted, workdir, timeoutMs } = given.operation ?? {};
    const made = inTurn.then(async () =>
      makeRun(server, workspace, {
        ...(await inputsOf(given)),
        pin: {
          ...(plan !== undefined && { targets: plan.targets, replace: plan.replace }),
          ...(plan?.mode === 'destroy' && { isDestroy: true }),
          ...(plan?.mode === 'refreshOnly' && { type: 'drift_check' }),
          ...(wanted !== undefined && { engine: wanted }),
          ...(workdir !== undefined && { workdir }),
          ...(timeoutMs !== undefined && { planTimeoutMs: timeoutMs, applyTimeoutMs: timeoutMs }),
        },
      }),
    );
    inTurn = made.catch(() => undefined);
    return made;
  }

  const rig: Rig = {
    ...{ proxy, server, workspace },
    scratch: root,
    async plan(given = {}) {
      const made = piece(await preparePlan(server, await runOf(given)), given);
      options.set(made.id, given);
      return made;
    },
    async apply(plan, given = options.get(plan.id) ?? {}) {
      await plan.result();
      return piece(await prepareApply(server, plan.run, given), given);
    },
    async planned(given) {
      const make = async () => {
        const plan = await rig.plan(given);
        await plan.start();
        const result = await plan.result();
        if (result.plan === undefined) throw new Error(`no plan: ${JSON.stringify(result)}`);
        return { plan, result };
      };
      if ((await rig.state()) !== undefined) return rig.apply((await make()).plan, given);
      const baked =
        cache.get(given.files) ?? make().then(({ plan, result }) => takePlan(server, plan.run, result));
      cache.set(given.files, baked);
      const plan = await baked;
      // A run of its own with the same plan, as on another host.
      const run = await runOf(given);
      await bringPlan(server, run, plan);
      return piece(await prepareApply(server, run, given), given);
    },
    killAt: (struck, request, when) =>
      new Promise((resolve) => {
        const meddle: Meddler = async ({ what, operation }) => {
          if (what !== request || operation !== struck.id) return undefined;
          const { pid } = JSON.parse(await readFile(struck.paths.lock, 'utf8')) as { pid: number };
          kill(pid, 'SIGKILL');
          resolve();
          return 'hang';
        };
        if (when === 'before') proxy.meddle = meddle;
        else proxy.meddleAfter = meddle;
      }),
    heal() {
      proxy.meddle = () => Promise.resolve(undefined);
      proxy.meddleAfter = () => Promise.resolve(undefined);
    },
    happened: async (file) =>
      (await readFile(join(root, file), 'utf8').catch(() => '')).split('\n').filter((line) => line !== ''),
    async state() {
      const { status, bytes } = await server.worker('GET', `/state/v1/${workspace}`);
      return status === 200 ? { bytes, digest: digestOf(bytes) } : undefined;
    },
    async setState(bytes) {
      const { slots, versions, contents } = server.store;
      const source = async function* (): AsyncIterable<Uint8Array> {
        yield await Promise.resolve(bytes);
      };
      await slots.lock(workspace, { id: 'lock', info: '{}', user: 'somebody', mayMend: false });
      const state = await keepState(contents, workspace, source());
      await versions.addByPerson(workspace, { lock: 'lock', user: 'somebody' }, state);
      await slots.unlock(workspace, 'lock');
    },
    async stateResources() {
      const state = await rig.state();
      if (state === undefined) return [];
      const { resources } = JSON.parse(state.bytes.toString('utf8')) as {
        resources: Awaited<ReturnType<Rig['stateResources']>>;
      };
      return resources;
    },
    async close() {
      for (const pid of started) {
        for (const each of [pid, ...(await processesOfSession(pid))]) kill(each, 'SIGKILL');
        await until('the end of a runner', async () => (await processStart(pid)) === undefined);
      }
      await proxy.close();
      await server.close();
      await rm(root, { recursive: true, force: true });
    },
  };
  return rig;
}

export { exists };

/** Sends a signal to a process that may be gone. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone.
  }
}

async function enginePid({ engine }: FolderPaths): Promise<number | undefined> {
  const text = await readFile(engine, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as { pid: number }).pid;
}

/** Waits for the end of a process. */
export const gone = (pid: number): Promise<boolean> =>
  until(`the end of process ${pid}`, async () => (await processStart(pid)) === undefined);

export const verdictOf = (result: OperationResult): ApplyVerdict | PlanVerdict =>
  result.kind === 'apply' ? judgeApply(result) : judgePlan(result);

/** Names of files in a folder and below. */
export const filesIn = (folder: string): Promise<string[]> => readdir(folder, { recursive: true });
