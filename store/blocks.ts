/** Some bytes of a stream. */
export interface Block {
  block: Buffer;
  isLast: boolean;
}

/** A stream in blocks of one size; the last may be shorter, and is the only one where there are no bytes. */
export async function* blocksOf(source: AsyncIterable<Uint8Array>, size: number): AsyncIterable<Block> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    parts.push(chunk);
    bytes += chunk.length;
    // A full block is held back until there is more: it may be the last.
    while (bytes > size) {
      const all = Buffer.concat(parts);
      yield { block: all.subarray(0, size), isLast: false };
      parts = [all.subarray(size)];
      bytes -= size;
    }
  }
  yield { block: Buffer.concat(parts), isLast: true };
}
