/** Asks whether the main step may begin: once and for all (T8.2). */
import { randomBytes } from 'node:crypto';
import type { EngineIdentity } from '../api/terraform/engine.js';
import type { Context } from './context.js';
import { readText } from './folder.js';
import { writeOnce } from '../runtime/durable-files.js';
import { Refused } from './refused.js';
import { untilAnswered } from './retry.js';
import { ServerRefused } from './server-client.js';

const NONCE_BYTES = 32;

/**
 * Begins the main step. The nonce is on the disk before the first question: a repeated one has the same answer, and
 * nobody else's has it.
 *
 * @returns when it began, ISO 8601
 * @throws Refused with the server's reason; `NotStarted` where there is no answer in time
 */
export async function begin(
  context: Context,
  facts: { engine: EngineIdentity; lineage: string; serial: number },
): Promise<string> {
  const { paths, client, runner, times, interruption } = context;
  await writeOnce(paths.nonce, randomBytes(NONCE_BYTES).toString('hex'));
  const nonce = await readText(paths.nonce);
  if (nonce === undefined) throw new Error(`${paths.nonce} is gone`);
  refuseInterrupted(context);
  try {
    const { record } = await untilAnswered(() => client.begin({ nonce, runner, ...facts }), {
      forMs: times.begin,
      isOver: () => interruption.cause() !== undefined,
    });
    if (record.state !== 'started') {
      throw new Refused({ reason: 'NotStarted', message: `the operation is ${record.state} already` });
    }
    return record.at;
  } catch (error) {
    if (error instanceof Refused) throw error;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof ServerRefused) throw new Refused({ reason: error.reason, message });
    throw new Refused({
      reason: 'NotStarted',
      message: `the server did not say that it may begin: ${message}`,
    });
  }
}

/** @throws Refused where the operation was interrupted before it began */
export function refuseInterrupted({ interruption }: Pick<Context, 'interruption'>): void {
  const cause = interruption.cause();
  if (cause === undefined) return;
  throw new Refused({
    reason: cause.by === 'outside' ? 'Interrupted' : 'Cancelled',
    message: cause.reason ?? 'it was interrupted before it began',
  });
}
