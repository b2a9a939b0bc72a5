/** Reads a growing file line by line. Every byte gives the same text whenever it is read, so that a reading can begin anew. */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

/** Reads on from where it was. */
export interface LineReader {
  /**
   * The next whole lines, with their line breaks: about `maxBytes` of them, at least one; none where no more are there yet.
   *
   * @param isOver the file grows no more: what has no line break is a line too
   */
  next(maxBytes: number, isOver: boolean): Promise<string[]>;
  close(): Promise<void>;
}

const CHUNK = 64 * 1024;
const NEWLINE = 0x0a;

/**
 * A reader from the beginning of a file, which need not be there yet.
 *
 * @param maxLine longest line in bytes; of a longer one that many are given, and how long it was
 */
export function createLineReader(path: string, maxLine: number): LineReader {
  let file: FileHandle | undefined;
  let offset = 0;
  /** What was read of the line that is not whole yet, at most `maxLine` bytes. */
  let parts: Buffer[] = [];
  let kept = 0;
  let length = 0;

  const take = (piece: Buffer): void => {
    length += piece.length;
    const room = Math.min(piece.length, maxLine - kept);
    if (room <= 0) return;
    // Copied: the buffer is read into again.
    parts.push(Buffer.from(piece.subarray(0, room)));
    kept += room;
  };
  const finish = (): string => {
    const text = Buffer.concat(parts).toString('utf8');
    const note = length > kept ? `… (cut: the line has ${length} bytes)` : '';
    parts = [];
    kept = 0;
    length = 0;
    return text + note;
  };

  return {
    async next(maxBytes, isOver) {
      file ??= await openIfThere(path);
      if (file === undefined) return [];
      const lines: string[] = [];
      const buffer = Buffer.allocUnsafe(CHUNK);
      for (let given = 0; given < maxBytes || lines.length === 0;) {
        const { bytesRead } = await file.read(buffer, 0, CHUNK, offset);
        if (bytesRead === 0) {
          if (isOver && length > 0) lines.push(finish());
          break;
        }
        offset += bytesRead;
        given += bytesRead;
        let from = 0;
        for (
          let at = buffer.indexOf(NEWLINE);
          at >= 0 && at < bytesRead;
          at = buffer.indexOf(NEWLINE, from)
        ) {
          take(buffer.subarray(from, at));
          lines.push(`${finish()}\n`);
          from = at + 1;
        }
        take(buffer.subarray(from, bytesRead));
      }
      return lines;
    },
    async close() {
      await file?.close();
    },
  };
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
