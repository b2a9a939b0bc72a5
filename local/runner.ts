import { mkdir } from 'node:fs/promises';
import { stopInOrder } from './down.js';
import type { DataPaths } from './paths.js';
import { startDetached, stopProcess, waitReady, type ProcessSpec } from './processes.js';
import { reported, type Progress } from './progress.js';
import { isAlive, writeJson, type ProcessName, type State } from './state.js';

/** Starts what is not running, records it, and waits until it serves. */
export class Runner {
  readonly state: State;
  readonly started: ProcessName[] = [];
  readonly #paths: DataPaths;
  readonly #progress: Progress;
  readonly #signal: AbortSignal | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: {
    state: State;
    paths: DataPaths;
    progress: Progress;
    signal: AbortSignal | undefined;
  }) {
    this.state = options.state;
    this.#paths = options.paths;
    this.#progress = options.progress;
    this.#signal = options.signal;
  }

  /**
   * Makes sure that one process runs and serves.
   *
   * @throws Error with the end of its log when it does not come up, or the signal's reason; it is stopped again then.
   */
  async ensure(spec: ProcessSpec): Promise<void> {
    this.#signal?.throwIfAborted();
    const recorded = this.state.processes[spec.name];
    if (recorded !== undefined && (await isAlive(recorded))) {
      await waitReady(spec, recorded, this.#signal);
      return;
    }
    const died = recorded !== undefined;
    await reported(
      this.#progress,
      spec.name,
      died ? `${spec.name} is not running any more; starting it again` : `starting ${spec.name}`,
      async () => {
        await mkdir(this.#paths.logs, { recursive: true });
        const record = await startDetached(spec);
        this.started.push(spec.name);
        this.state.processes[spec.name] = record;
        await this.save();
        try {
          await waitReady(spec, record, this.#signal);
        } catch (error) {
          await stopProcess(record, 2000);
          delete this.state.processes[spec.name];
          await this.save();
          throw error;
        }
      },
      () => `ready (log ${spec.log})`,
    );
  }

  /** Stops what {@link ensure} has started, and forgets it. @returns the names, in the order in which they were started */
  async stopStarted(): Promise<ProcessName[]> {
    const { processes } = this.state;
    const mine = Object.fromEntries(this.started.map((name) => [name, processes[name]]));
    await stopInOrder(mine, { progress: this.#progress });
    for (const name of this.started) delete processes[name];
    await this.save();
    return this.started;
  }

  /** Writes the state file, one write at a time. */
  save(): Promise<void> {
    this.#writing = this.#writing.then(() => writeJson(this.#paths.state, this.state));
    return this.#writing;
  }
}
