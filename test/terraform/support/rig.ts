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
import type { Operation } from '../../../api/terraform/operation.js';
import { operationId, type Variable } from '../../../api/terraform/operation-terms.js';
import type { OperationResult } from '../../../api/terraform/operation-result.js';
import type { RunnerOrder, RunnerTimes } from '../../../api/terraform/runner-order.js';
import { createLog } from '../../../runtime/log.js';
import { findEngines } from '../../../runtime/engines.js';
import { processStart } from '../../../runtime/process-identity.js';
import { processesOfSession } from '../../../runtime/session.js';
import { exists, folderPaths, type FolderPaths } from '../../../runner/folder.js';
import { salvage, type SalvageEnd } from '../../../runner/salvage.js';
import { createServerClient } from '../../../runner/server-client.js';
import { startRunner, writeOrder } from '../../../runner/start.js';
import {
  digestOf,
  startProtocolServer,
  type KnownOperation,
  type Meddler,
  type ProtocolServer,
} from './protocol-server.js';

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
  known: () => KnownOperation;
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
  log: () => string;
}

/** A workspace with its server. */
export interface Rig {
  server: ProtocolServer;
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
  stateResources: () => {
    type: string;
    name: string;
    instances: { status?: string; index_key?: unknown }[];
  }[];
  close: () => Promise<void>;
}

/** Plans that were made once, to be applied in several tests: by their configuration, from no state. */
export type PlanCache = Map<
  string,
  Promise<{ artefacts: [name: string, bytes: Buffer][]; operation: Operation }>
>;

export interface PieceOptions {
  /** The configuration: text of `main.tf`, or files by name. */
  files?: string | Record<string, string>;
  variables?: (Pick<Variable, 'key' | 'value'> & Partial<Variable>)[];
  operation?: Partial<Operation>;
  order?: Partial<RunnerOrder>;
  times?: Partial<RunnerTimes>;
  env?: NodeJS.ProcessEnv;
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
  const server = await startProtocolServer();
  const started: number[] = [];
  const options = new Map<string, PieceOptions>();

  function piece(operation: Operation, given: PieceOptions): Piece {
    const folder = join(root, 'ops', operation.id);
    const paths = folderPaths(folder);
    const order: RunnerOrder = {
      operation,
      server: { url: server.url },
      token: { kind: 'text', text: `token-of-${operation.id}` },
      hostId: 'host-1',
      engine,
      passEnvironment: [],
      times: { ...TIMES, ...given.times },
      ...given.order,
    };
    server.operations.set(operation.id, {
      operation,
      record: { state: 'prepared', at: new Date().toISOString() },
      control: {},
      log: { out: Buffer.alloc(0), err: Buffer.alloc(0) },
      syncs: [],
      temp: [],
    });
    const known = (): KnownOperation => server.operations.get(operation.id)!;
    return {
      id: operation.id,
      order,
      paths,
      known,
      prepare: () => writeOrder(folder, order),
      async start() {
        await writeOrder(folder, order);
        const pid = await startRunner({ folder, order, env: { ...process.env, ...given.env } });
        started.push(pid);
        return pid;
      },
      result: () =>
        until(`the result of ${operation.id}`, () => {
          const { record } = known();
          if (record.state === 'ended') return record.result;
          return record.state === 'lost' ? record.found : undefined;
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
      log: () => known().log.out.toString('utf8'),
    };
  }

  /** What the engine is told of a piece: its variables, and where it may note what it does. */
  const variablesOf = (given: PieceOptions): Variable[] =>
    [{ key: 'SCRATCH', value: root, variableType: 'environment' as const }, ...(given.variables ?? [])].map(
      (each): Variable => ({ variableType: 'terraform', valueFormat: 'string', sensitive: false, ...each }),
    );

  function bake(files: string, make: () => Promise<Piece>) {
    const baked = make().then(async (plan) => {
      const { operation } = (await rig.apply(plan)).order;
      const artefacts = [...server.artefacts]
        .filter(([key]) => key.startsWith(operation.run))
        .map(([key, bytes]): [string, Buffer] => [key.slice(operation.run.length + 1), bytes]);
      return { artefacts, operation };
    });
    cache.set(files, baked);
    return baked;
  }

  const rig: Rig = {
    server,
    scratch: root,
    async plan(given = {}) {
      const run = randomUUID();
      const files = typeof given.files === 'string' ? { 'main.tf': given.files } : (given.files ?? {});
      const archive = await archiveOf(files);
      const variables = variablesOf(given);
      const variablesFile = Buffer.from(JSON.stringify(variables));
      server.artefacts.set(`${run}/archive`, archive).set(`${run}/variables`, variablesFile);
      const operation: Operation = {
        id: operationId(run, { kind: 'plan', n: 1 }),
        run,
        workspace: randomUUID(),
        kind: 'plan',
        engine: { name: 'terraform', version: 'latest' },
        workdir: '',
        inputs: { archive: digestOf(archive), variables: digestOf(variablesFile) },
        lineage: server.state?.facts.lineage ?? '',
        serial: server.state?.facts.serial ?? 0,
        plan: { mode: 'normal', targets: [], replace: [] },
        timeoutMs: 60_000,
        ...given.operation,
      };
      const made = piece(operation, given);
      options.set(made.id, given);
      return made;
    },
    async apply(plan, given = options.get(plan.id) ?? {}) {
      const { operation } = plan.order;
      const { written, engine: made } = await plan.result();
      return piece(
        {
          ...operation,
          id: operationId(operation.run, { kind: 'apply' }),
          kind: 'apply',
          engine: { ...operation.engine, digest: made!.digest },
          inputs: {
            ...operation.inputs,
            planFile: written!.planFile!,
            ...(written?.planLockFile !== undefined && { planLockFile: written.planLockFile }),
          },
          ...given.operation,
        },
        given,
      );
    },
    async planned(given) {
      const make = async () => {
        const plan = await rig.plan(given);
        await plan.start();
        const result = await plan.result();
        if (result.plan === undefined) throw new Error(`no plan: ${JSON.stringify(result)}`);
        return plan;
      };
      if (server.state !== undefined) return rig.apply(await make(), given);
      const made = await (cache.get(given.files) ?? bake(given.files, make));
      // A run of its own with the same plan, as on another host.
      const run = randomUUID();
      for (const [name, bytes] of made.artefacts) server.artefacts.set(`${run}/${name}`, bytes);
      const variables = Buffer.from(JSON.stringify(variablesOf(given)));
      server.artefacts.set(`${run}/variables`, variables);
      const inputs = { ...made.operation.inputs, variables: digestOf(variables) };
      const id = operationId(run, { kind: 'apply' });
      return piece({ ...structuredClone(made.operation), id, run, inputs, ...given.operation }, given);
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
        if (when === 'before') server.meddle = meddle;
        else server.meddleAfter = meddle;
      }),
    heal() {
      server.meddle = () => Promise.resolve(undefined);
      server.meddleAfter = () => Promise.resolve(undefined);
    },
    happened: async (file) =>
      (await readFile(join(root, file), 'utf8').catch(() => '')).split('\n').filter((line) => line !== ''),
    stateResources: () =>
      server.state === undefined
        ? []
        : (
            JSON.parse(server.state.bytes.toString('utf8')) as {
              resources: ReturnType<Rig['stateResources']>;
            }
          ).resources,
    async close() {
      for (const pid of started) {
        for (const each of [pid, ...(await processesOfSession(pid))]) kill(each, 'SIGKILL');
        await until('the end of a runner', async () => (await processStart(pid)) === undefined);
      }
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
