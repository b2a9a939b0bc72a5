/** What all steps of an operation share. */
import type { Logger } from 'pino';
import type { secretsOf } from '../api/core/redact.js';
import type { EngineProgress } from '../api/terraform/apply-progress.js';
import type { EngineIdentity } from '../api/terraform/engine.js';
import type { EngineEnd } from '../api/terraform/operation-result.js';
import type { RunnerIdentity } from '../api/terraform/operation-terms.js';
import type { RunnerOrder, RunnerTimes } from '../api/terraform/runner-order.js';
import type { FolderPaths } from './folder.js';
import type { Interruption } from './interruption.js';
import type { Pulse } from './pulse.js';
import type { ServerClient } from './server-client.js';

/** An operation that is being carried out. */
export interface Context {
  order: RunnerOrder;
  times: RunnerTimes;
  paths: FolderPaths;
  runner: RunnerIdentity;
  client: ServerClient;
  interruption: Interruption;
  pulse: Pulse;
  progress: EngineProgress;
  secrets: ReturnType<typeof secretsOf>;
  log: Logger;
  /** The runner's own variables. */
  env: NodeJS.ProcessEnv;
}

/** An engine that is ready to work. */
export interface ReadyEngine {
  identity: EngineIdentity;
  program: string;
  env: Record<string, string>;
  /** Where it works. */
  folder: string;
}

/** Runs the engine with some arguments. */
export type RunStep = (
  args: readonly string[],
  options?: {
    /** Of the main step alone. */
    timeoutMs?: number;
    out?: string;
    started?: (pid: number) => Promise<void>;
    isKilledBySelf?: boolean;
  },
) => Promise<EngineEnd>;
