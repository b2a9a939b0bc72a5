/** One stream of the log, on its way to the server: secrets taken out before it leaves the host (T5.5). */
import { MAX_LOG_LINE_BYTES } from '../api/terraform/bounds.js';
import type { StreamPart } from '../api/terraform/operation.js';
import type { Redactor } from '../api/core/redact.js';
import { createLineReader } from './line-reader.js';

/** Gives out a stream part by part. */
export interface LogSender {
  /** What comes next, at most `maxBytes`; undefined where there is nothing new. The same again until it is confirmed. */
  part(maxBytes: number, isOver: boolean): Promise<StreamPart | undefined>;
  /** The server has so many bytes. */
  confirm(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** A sender of a file that grows. Offsets are of the stream without secrets, whose every byte follows from the file. */
export function createLogSender(path: string, redact: Redactor): LogSender {
  let reader = createLineReader(path, MAX_LOG_LINE_BYTES);
  /** Not confirmed yet. */
  let waiting = Buffer.alloc(0);
  /** Bytes of the stream before that. */
  let offset = 0;

  async function fill(maxBytes: number, isOver: boolean): Promise<boolean> {
    const lines = await reader.next(maxBytes, isOver);
    if (lines.length === 0) return false;
    waiting = Buffer.concat([waiting, ...lines.map((line) => Buffer.from(redact(line)))]);
    return true;
  }

  return {
    async part(maxBytes, isOver) {
      if (waiting.length < maxBytes) await fill(maxBytes - waiting.length, isOver);
      if (waiting.length === 0) return undefined;
      return { offset, text: wholeCharacters(waiting, maxBytes).toString('utf8') };
    },
    async confirm(bytes) {
      if (bytes < offset) {
        // The server has lost what it had: the stream begins anew.
        await reader.close();
        reader = createLineReader(path, MAX_LOG_LINE_BYTES);
        waiting = Buffer.alloc(0);
        offset = 0;
      }
      // More than was given out is there after another runner of this folder: that much is passed over.
      while (bytes > offset + waiting.length) {
        offset += waiting.length;
        waiting = Buffer.alloc(0);
        if (!(await fill(1 << 20, false))) return;
      }
      waiting = waiting.subarray(bytes - offset);
      offset = bytes;
    },
    close: () => reader.close(),
  };
}

/** The beginning of some UTF-8, cut between characters. */
function wholeCharacters(bytes: Buffer, max: number): Buffer {
  if (bytes.length <= max) return bytes;
  let end = max;
  // Bytes 10xxxxxx go on a character.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end);
}
