/** What a worker hands to a runner: `op.json` in the operation's folder. */
import type { FoundEngine } from './engine.js';
import type { Operation } from './operation.js';

/** Names of the files in an operation's folder (T7.2). */
export const FOLDER_FILES = {
  /** {@link RunnerOrder}. */
  order: 'op.json',
  /** Who runs it: a `RunnerIdentity`. Made exclusively, never removed. */
  lock: 'runner.lock',
  /** What `begin` is asked with. */
  nonce: 'nonce',
  /** There from before the engine's main step is started: without it the engine was not. */
  spawning: 'spawning',
  /** The engine's process, as pid and start. */
  engine: 'engine.json',
  /** There from before the engine is sent its one SIGINT: an `InterruptCause`. */
  interrupted: 'interrupted.json',
  out: 'out.jsonl',
  err: 'err.log',
  /** The last whole content of an apply's state. */
  state: 'state.json',
  result: 'result.json',
  /** The runner's own log. */
  log: 'runner.log',
} as const;

/** Everything that a runner is told. Secret: it has the operation's token. */
export interface RunnerOrder {
  operation: Operation;
  server: {
    /** Such as `https://drover-server:8443`. `http` only on loopback. */
    url: string;
    /** File of certificates to trust; default those of the system. */
    caFile?: string;
  };
  /** The operation's token, or a file that holds one that is renewed from time to time. */
  token: { kind: 'text'; text: string } | { kind: 'file'; path: string };
  hostId: string;
  /** The engine that the worker has found; absent: the runner looks for one. */
  engine?: FoundEngine;
  /** Variables that the engine gets from the runner's environment; `*`: all of them, as in a pod. */
  passEnvironment: string[];
  /** A CLI configuration whose text is added to that of the engine, such as one that names a mirror. */
  cliConfigFile?: string;
  /** Absent: {@link RUNNER_TIMES}. */
  times?: Partial<RunnerTimes>;
}

/** Times in milliseconds. */
export interface RunnerTimes {
  /** Between two `sync`. */
  sync: number;
  /** Between two looks at the state. */
  mirror: number;
  /** How long `begin` may go unanswered (T8.2). */
  begin: number;
  /** How long fetching, and the saving of a plan, may take (T6.2). */
  transfer: number;
  /** From an interrupt to a kill: of a plan by itself, of an apply at the earliest (T7.7, T15.3). */
  kill: number;
  /** What is left in the session gets from SIGTERM to SIGKILL (T7.6). */
  endSession: number;
  /** How long the server may be away before the folder is left as it is (T7.3). */
  serverAway: number;
}

/** Times of a usual operation. */
export const RUNNER_TIMES: RunnerTimes = {
  sync: 1000,
  mirror: 100,
  begin: 600_000,
  transfer: 600_000,
  kill: 60_000,
  endSession: 5000,
  serverAway: 86_400_000,
};
