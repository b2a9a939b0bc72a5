import { setTimeout as sleep } from 'node:timers/promises';
import { startDetached, stopProcess, waitReady } from '../../local/processes.js';
import type { ProcessSpec } from '../../local/processes.js';
import { isAlive } from '../../local/state.js';
import type { ProcessRecord } from '../../local/state.js';

/** A process that is started again whenever it is not there. */
export interface Supervised {
  name: string;
  /** Whether it serves, as far as is known. */
  readonly ready: boolean;
  /** Times it ended without being told to. */
  readonly ownDeaths: number;
  whenReady(): Promise<void>;
  /** Resolves when it is dead; it comes back by itself. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Stands still, and goes on when it is told to. */
  pause(): void;
  resume(): void;
  /** Keeps it from being started again until `release` is called. */
  hold(): void;
  release(): void;
  /** Changes what it is started with from the next start on. */
  configure(env: Record<string, string | undefined>): void;
  /** Ends it for good. */
  stop(): Promise<void>;
  /** Leaves it running and looks no more after it. */
  leave(): void;
}

export interface SuperviseOptions {
  log: (line: string) => void;
  /** What runs already. */
  running?: ProcessRecord | undefined;
  started?: (record: ProcessRecord) => void;
  label?: string;
}

const LOOK_MS = 100;
/** What has been told to end is given so long, as in deploy/programs; then whoever looks after it makes it end. */
const GRACE_MS = 45_000;

/** Starts the process unless it runs, and looks after it. */
export function superviseProcess(initial: ProcessSpec, options: SuperviseOptions): Supervised {
  const name = options.label ?? initial.name;
  const { log } = options;
  let spec = initial;
  let record = options.running;
  let ready = record !== undefined;
  let ownDeaths = 0;
  let expected = record === undefined;
  let held = false;
  let isOver = false;
  const waiting: (() => void)[] = [];

  async function loop(): Promise<void> {
    while (!isOver) {
      if (!(await isAlive(record))) {
        if (isOver) return;
        ready = false;
        if (!expected) {
          ownDeaths += 1;
          log(`${name} has ended by itself`);
        }
        expected = true;
        if (!held) await bringUp();
      }
      await sleep(LOOK_MS);
    }
  }

  async function bringUp(): Promise<void> {
    try {
      const started = await startDetached(spec);
      record = started;
      expected = false;
      options.started?.(started);
      await waitReady(spec, started);
      ready = true;
      for (const resolve of waiting.splice(0)) resolve();
    } catch (error) {
      // Killed again while it came up, or what it needs is not there yet: once more.
      if (!isOver) log(`${name} did not come up: ${(error as Error).message}`);
      await stopProcess(record, 1000);
      expected = true;
      await sleep(500);
    }
  }

  const looking = loop();
  return {
    name,
    get ready() {
      return ready;
    },
    get ownDeaths() {
      return ownDeaths;
    },
    whenReady: () => (ready ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    async kill(signal) {
      const victim = record;
      if (victim === undefined || !(await isAlive(victim))) return;
      expected = true;
      ready = false;
      process.kill(victim.pid, signal);
      const patience = Date.now() + GRACE_MS;
      while (await isAlive(victim)) {
        if (signal === 'SIGTERM' && Date.now() >= patience) {
          log(`${name} has not ended ${GRACE_MS / 1000} s after SIGTERM, and is killed`);
          return this.kill('SIGKILL');
        }
        await sleep(5);
      }
    },
    pause() {
      if (record !== undefined) process.kill(record.pid, 'SIGSTOP');
    },
    resume() {
      if (record !== undefined) process.kill(record.pid, 'SIGCONT');
    },
    hold() {
      held = true;
    },
    release() {
      held = false;
    },
    configure(env) {
      spec = { ...spec, env: { ...spec.env, ...env } };
    },
    async stop() {
      isOver = true;
      await stopProcess(record, 10_000);
      await looking;
    },
    leave() {
      isOver = true;
    },
  };
}
