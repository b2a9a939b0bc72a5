/** A sign of life each second: brings output and progress to the server, and back what it wants (T7.3). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redactor } from '../api/core/redact.js';
import type { EngineProgress } from '../api/terraform/apply-progress.js';
import { MAX_LOG_LINE_BYTES, MAX_RESOURCE_ROWS, MAX_SYNC_BYTES } from '../api/terraform/bounds.js';
import type { Control, StreamPart, SyncRequest } from '../api/terraform/operation.js';
import type { ResourceMove } from '../api/terraform/operation-result.js';
import {
  LOG_STREAMS,
  type LogStream,
  type OperationStep,
  type RunnerIdentity,
} from '../api/terraform/operation-terms.js';
import type { FolderPaths } from './folder.js';
import type { Interruption } from './interruption.js';
import { createLineReader } from './line-reader.js';
import { createLogSender } from './log-sender.js';
import type { ServerClient } from './server-client.js';

/** What a pulse works with. */
export interface PulseOptions {
  client: Pick<ServerClient, 'sync'>;
  runner: RunnerIdentity;
  paths: Pick<FolderPaths, 'out' | 'err'>;
  progress: EngineProgress;
  redact: Redactor;
  interruption: Interruption;
  /** Between two beats, in milliseconds. */
  everyMs: number;
  /** Told of a beat that failed, with how many have in a row, and of the first that works again. */
  onFailure: (error: unknown, inARow: number) => void;
}

/** The pulse of an operation. */
export interface Pulse {
  /** Said with the next beat. */
  step: OperationStep;
  /** Takes in all that the engine has said, now that it has ended. */
  readOutput(): Promise<void>;
  /**
   * Reads the output to its end, and sends what is not sent yet.
   *
   * @throws what the last beat failed with
   */
  finish(): Promise<void>;
  /** Beats no more. */
  stop(): Promise<void>;
}

/** In bytes of UTF-8: a part may end that much before it is full. */
const WIDEST_CHARACTER = 4;

/** Begins to beat. A beat that fails changes nothing: whether the operation may go on is asked at `begin`. */
export function startPulse(options: PulseOptions): Pulse {
  const { client, runner, paths, progress, redact, interruption, everyMs, onFailure } = options;
  const logs = { out: createLogSender(paths.out, redact), err: createLogSender(paths.err, redact) };
  const lines = createLineReader(paths.out, MAX_LOG_LINE_BYTES);
  /** Not confirmed, by action and address. */
  const waiting = new Map<string, ResourceMove>();
  const told = new Set<string>();
  let isStopped = false;
  let failures = 0;
  let inTurn: Promise<unknown> = Promise.resolve();

  /** Takes in what the engine has said since the last time. */
  async function read(isOver: boolean): Promise<void> {
    for (;;) {
      const next = await lines.next(MAX_SYNC_BYTES, isOver);
      for (const line of next) {
        const move = progress.line(line);
        if (move === undefined) continue;
        const name = `${move.action} ${move.address}`;
        if (!told.has(name) && told.size >= MAX_RESOURCE_ROWS) continue;
        told.add(name);
        waiting.set(name, { ...move, ...(move.id !== undefined && { id: redact(move.id) }) });
      }
      if (next.length === 0) return;
    }
  }

  async function beat(isOver: boolean): Promise<{ hasLog: boolean; isFull: boolean }> {
    await read(isOver);
    const moves = [...waiting.values()];
    const log: Partial<Record<LogStream, StreamPart>> = {};
    let room = MAX_SYNC_BYTES;
    for (const stream of LOG_STREAMS) {
      const part = room > 0 ? await logs[stream].part(room, isOver) : undefined;
      if (part === undefined) continue;
      log[stream] = part;
      room -= Buffer.byteLength(part.text);
    }
    const request: SyncRequest = { runner, step: pulse.step, log, moves };
    const interrupted = interruption.cause();
    if (interrupted !== undefined) request.interrupted = interrupted;
    const answer = await client.sync(request);
    for (const move of moves) {
      const name = `${move.action} ${move.address}`;
      if (waiting.get(name) === move) waiting.delete(name);
    }
    for (const stream of LOG_STREAMS) await logs[stream].confirm(answer.log[stream]);
    obey(answer.control, interruption);
    return { hasLog: Object.keys(log).length > 0, isFull: room < WIDEST_CHARACTER };
  }

  /** One at a time. */
  function inOrder<T>(work: () => Promise<T>): Promise<T> {
    const next = inTurn.then(work);
    inTurn = next.catch(() => undefined);
    return next;
  }

  const pulse: Pulse = {
    step: 'fetching',
    readOutput: () => inOrder(() => read(true)),
    async finish() {
      while ((await inOrder(() => beat(true))).hasLog);
    },
    async stop() {
      isStopped = true;
      stopped.abort();
      await beating;
      await Promise.all([lines.close(), logs.out.close(), logs.err.close()]);
    },
  };
  const stopped = new AbortController();
  const beating = (async () => {
    while (!isStopped) {
      const began = Date.now();
      try {
        while ((await inOrder(() => beat(false))).isFull && !isStopped);
        if (failures > 0) onFailure(undefined, 0);
        failures = 0;
      } catch (error) {
        failures += 1;
        onFailure(error, failures);
      }
      const rest = Math.max(0, began + everyMs - Date.now());
      await sleep(rest, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  })();
  return pulse;
}

function obey({ interrupt, kill }: Control, interruption: Interruption): void {
  if (interrupt !== undefined) interruption.interrupt(interrupt);
  if (kill !== undefined) interruption.kill(kill.reason);
}
