/**
 * The log of an operation, in pieces. Of a long one the first half of what may be kept stays, and the newest (T1.6): what
 * is between them is left out, and a reader is told so.
 */
import type { Documents } from './documents.js';

/** New text of a stream: `offset` bytes of it come before. */
export interface LogPart {
  offset: number;
  text: string;
}

/** A piece grows up to this before the next begins, in bytes. */
const PIECE_BYTES = 64 * 1024;
const DIGITS = 15;

/** Does some work in a transaction. */
type Within = <T>(work: (documents: Documents) => Promise<T>) => Promise<T>;

/**
 * Adds what is new.
 *
 * @param options.stored bytes that there are
 * @param options.maxBytes of which half is the beginning that stays, and half the end
 * @returns bytes that there are now; a part that begins later is not stored
 */
export async function appendLog(
  documents: Documents,
  log: string,
  part: LogPart | undefined,
  { stored, maxBytes }: { stored: number; maxBytes: number },
): Promise<number> {
  if (stored === 0 && part?.offset === 0) await forget(documents, log);
  if (part === undefined || part.offset > stored) return stored;
  const fresh = Buffer.from(part.text).subarray(stored - part.offset);
  if (fresh.length === 0) return stored;
  const keys = await documents.keys(folderOf(log));
  const last = keys.at(-1);
  const piece = last === undefined ? undefined : await documents.getBytes(last);
  const isOpen =
    last !== undefined &&
    piece !== undefined &&
    piece.length < PIECE_BYTES &&
    startOf(last) + piece.length === stored;
  if (isOpen) await documents.putBytes(last, Buffer.concat([piece, fresh]));
  else await documents.putBytes(keyOf(log, stored), fresh);
  const end = stored + fresh.length;
  await leaveOut(documents, keys, { end, half: maxBytes / 2 });
  return end;
}

/** Removes pieces between the beginning and the newest. */
async function leaveOut(
  documents: Documents,
  keys: readonly string[],
  { end, half }: { end: number; half: number },
): Promise<void> {
  for (const [index, key] of keys.entries()) {
    const next = keys[index + 1];
    if (next === undefined || startOf(next) > end - half) return;
    if (startOf(key) >= half) await documents.delete(key);
  }
}

/** The stream begins anew, as what was there has been lost in part. */
async function forget(documents: Documents, log: string): Promise<void> {
  for (const key of await documents.keys(folderOf(log))) await documents.delete(key);
}

/** Bytes of a log from an offset on, with a line where some were left out. */
export async function* readLog(within: Within, log: string, offset: number): AsyncIterable<Buffer> {
  const keys = await within((documents) => documents.keys(folderOf(log)));
  let at = offset;
  for (const key of keys) {
    const start = startOf(key);
    const piece = await within((documents) => documents.getBytes(key));
    if (piece === undefined || start + piece.length <= at) continue;
    if (start > at) yield Buffer.from(`\n... ${start - at} bytes are left out ...\n`);
    yield start < at ? piece.subarray(at - start) : piece;
    at = start + piece.length;
  }
}

const folderOf = (log: string): string => `log/${log}`;
const keyOf = (log: string, start: number): string =>
  `${folderOf(log)}/${String(start).padStart(DIGITS, '0')}`;
const startOf = (key: string): number => Number(key.slice(-DIGITS));
