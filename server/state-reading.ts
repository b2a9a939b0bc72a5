/** Reads a state on its way into the store: what is not whole does not get there (T8.4, T8.5). */
import { createStateReader, type StateFacts, type StateReading } from '../api/terraform/state.js';
import type { Contents } from '../store/contents.js';
import type { NewState } from '../store/versions.js';
import { Refusal } from './http/refusal.js';

/**
 * Keeps a state that is whole.
 *
 * @param accept called with its digest; throws where it is not wanted
 * @throws Refusal `NotWhole`
 */
export async function keepState(
  contents: Contents,
  workspace: string,
  source: AsyncIterable<Uint8Array>,
  accept?: (digest: string) => void,
): Promise<NewState> {
  let resourceCount = 0;
  let facts: StateFacts | undefined;
  const reader = createStateReader(() => {
    resourceCount += 1;
  });
  const read = async function* (): AsyncIterable<Uint8Array> {
    for await (const chunk of source) {
      // Read on: the client is to send all of it before it is told.
      reader.push(chunk);
      yield chunk;
    }
    const reading = reader.end();
    if (reading.kind !== 'whole')
      throw new Refusal('NotWhole', `the body is no whole state: ${reading.problem}`);
    ({ facts } = reading);
  };
  const content = await contents.keep(workspace, read(), accept);
  return { content, facts: facts!, resourceCount };
}

/** Looks through a stored state. */
export async function lookThrough(
  source: AsyncIterable<Uint8Array>,
): Promise<Extract<StateReading, { kind: 'whole' }>> {
  const reader = createStateReader();
  for await (const chunk of source) reader.push(chunk);
  const reading = reader.end();
  if (reading.kind !== 'whole') throw new Error(`a stored state is not whole: ${reading.problem}`);
  return reading;
}

/** Bytes with the digits of a serial in place of others; nothing else of them is touched. */
export async function* withSerial(
  source: AsyncIterable<Uint8Array>,
  { start, end }: { start: number; end: number },
  serial: number,
): AsyncIterable<Uint8Array> {
  let at = 0;
  for await (const chunk of source) {
    const next = at + chunk.length;
    if (at < start) yield chunk.subarray(0, Math.min(chunk.length, start - at));
    if (at <= start && start < next) yield Buffer.from(String(serial));
    if (next > end) yield chunk.subarray(Math.max(0, end - at));
    at = next;
  }
}
