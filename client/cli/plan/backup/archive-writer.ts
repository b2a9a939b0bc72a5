/** Writes an archive as a tar file, one entry after the other, without holding more than one. */
import { createHash } from 'node:crypto';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import { FORMAT, MANIFEST } from './manifest.js';
import type { About, EntryRecord, Manifest } from './manifest.js';

/** An archive that is being written. */
export interface ArchiveWriter {
  /**
   * Adds objects of one sort as an entry of their own: a line of JSON each.
   *
   * @param sort such as `drplans`: the folder of the entry
   * @throws what the stream throws, such as a full disk
   */
  add(sort: string, objects: readonly unknown[]): Promise<void>;
  /** Adds the manifest, and waits until all is written. */
  finish(about: About): Promise<{ manifest: Manifest; bytes: number; sha256: string }>;
}

const MODE = 0o600;

/**
 * Begins an archive.
 *
 * @param options.time of all entries
 * @param options.keepOpen whether the stream is somebody else's to end, as standard output is
 */
export function createArchiveWriter(
  to: Writable,
  { time, keepOpen = false }: { time: Date; keepOpen?: boolean },
): ArchiveWriter {
  const tar = pack();
  const whole = createHash('sha256');
  const entries: EntryRecord[] = [];
  const numbers = new Map<string, number>();
  let bytes = 0;

  async function* content(): AsyncGenerator<Buffer> {
    for await (const chunk of tar as unknown as AsyncIterable<Buffer>) {
      whole.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  const written = pipeline(content, to, { end: !keepOpen });
  // Waited for at the end; a failure before then ends the entry that is being written.
  const failed = written.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);

  const put = (name: string, data: Buffer): Promise<void> =>
    Promise.race([
      failed,
      new Promise<void>((resolve, reject) => {
        tar.entry({ name, size: data.length, mode: MODE, mtime: time }, data, (error) => {
          if (error) reject(error);
          else resolve();
        });
      }),
    ]);

  return {
    async add(sort, objects) {
      const number = (numbers.get(sort) ?? 0) + 1;
      numbers.set(sort, number);
      const name = `${sort}/${String(number).padStart(6, '0')}.ndjson`;
      const data = Buffer.from(objects.map((object) => `${JSON.stringify(object)}\n`).join(''));
      const sha256 = createHash('sha256').update(data).digest('hex');
      await put(name, data);
      entries.push({ name, bytes: data.length, objects: objects.length, sha256 });
    },
    async finish(about) {
      const manifest: Manifest = { format: FORMAT, ...about, entries };
      await put(MANIFEST, Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
      tar.finalize();
      await written;
      return { manifest, bytes, sha256: whole.digest('hex') };
    },
  };
}
