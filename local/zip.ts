import { inflateRawSync } from 'node:zlib';

/**
 * Reads one file out of a zip archive (a Python wheel is one).
 *
 * @returns undefined when no entry's name satisfies `wanted`.
 * @throws Error when the archive is damaged or packed in an unknown way.
 */
export function unzipEntry(archive: Buffer, wanted: (name: string) => boolean): Buffer | undefined {
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end < 0) throw new Error('not a zip archive: no end record');
  const entries = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  for (let i = 0; i < entries; i++) {
    if (archive.readUInt32LE(at) !== 0x02014b50) throw new Error('damaged zip archive: bad directory entry');
    const method = archive.readUInt16LE(at + 10);
    const packed = archive.readUInt32LE(at + 20);
    const size = archive.readUInt32LE(at + 24);
    const nameLength = archive.readUInt16LE(at + 28);
    const skip = archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
    const local = archive.readUInt32LE(at + 42);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    at += 46 + nameLength + skip;
    if (!wanted(name)) continue;
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const data = archive.subarray(start, start + packed);
    const content = method === 0 ? data : method === 8 ? inflateRawSync(data) : undefined;
    if (content === undefined) throw new Error(`${name} is packed by unknown method ${method}`);
    if (content.length !== size) throw new Error(`${name} has ${content.length} bytes instead of ${size}`);
    return content;
  }
  return undefined;
}
