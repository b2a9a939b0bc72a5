import { crc32, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { unzipEntry } from './zip.js';

function zip(files: { name: string; content: string; method: number; packed?: Buffer }[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, method, packed = Buffer.from(content) } of files) {
    const crc = typeof crc32 === 'function' ? crc32(content) : 0;
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(method, 8);
    local.writeUInt32LE(crc, 14);
    local.writeUInt32LE(packed.length, 18);
    local.writeUInt32LE(content.length, 22);
    local.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(content.length, 24);
    entry.writeUInt16LE(name.length, 28);
    entry.writeUInt32LE(offset, 42);
    locals.push(local, Buffer.from(name), packed);
    directory.push(entry, Buffer.from(name));
    offset += 30 + name.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

describe('unzipEntry', () => {
  const archive = zip([
    { name: 'a/stored', content: 'as it is', method: 0 },
    {
      name: 'b/packed',
      content: 'x'.repeat(500),
      method: 8,
      packed: deflateRawSync(Buffer.from('x'.repeat(500))),
    },
  ]);

  it('reads stored and packed files', () => {
    expect(unzipEntry(archive, (n) => n === 'a/stored')?.toString()).toBe('as it is');
    expect(unzipEntry(archive, (n) => n.endsWith('packed'))?.toString()).toBe('x'.repeat(500));
  });

  it('has no answer for a file that is not in it', () => {
    expect(unzipEntry(archive, (n) => n === 'c')).toBeUndefined();
  });

  it('refuses what is not a zip archive, and methods it does not know', () => {
    expect(() => unzipEntry(Buffer.from('hello'), () => true)).toThrow('not a zip archive');
    const odd = zip([{ name: 'z', content: 'z', method: 12 }]);
    expect(() => unzipEntry(odd, () => true)).toThrow('packed by unknown method 12');
  });
});
