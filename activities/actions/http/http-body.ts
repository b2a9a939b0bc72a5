import { TextDecoder } from 'node:util';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, constants } from 'node:zlib';
import type { Dispatcher } from 'undici';

/** Most bytes of a body that are read, and most that it may decompress to; the rest is left on the wire. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Codings that one answer may be wrapped in; nobody has a reason for more. */
const MAX_CODINGS = 3;

/** The text of a body, decompressed, as far as 1 MiB of it goes; what cannot be decompressed is named instead. */
export async function readText({ body, headers }: Dispatcher.ResponseData): Promise<string> {
  const raw = await readUpTo(MAX_BODY_BYTES, body as AsyncIterable<Buffer>);
  const codings = codingsOf(headers['content-encoding']);
  const bytes = raw.length === 0 ? raw : await decompress(raw, codings);
  if (bytes === undefined) return `[${raw.length} bytes, ${codings.join(', ')}]`;
  return decoderFor(single(headers['content-type'])).decode(bytes);
}

/** The value of a header; the first one, where there are several. */
export const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

async function readUpTo(limit: number, chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const read: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    size += chunk.length;
    if (size >= limit) break;
  }
  return Buffer.concat(read).subarray(0, limit);
}

/** In the order in which they were applied. */
const codingsOf = (value: string | string[] | undefined): string[] =>
  [value ?? []]
    .flat()
    .flatMap((text) => text.toLowerCase().split(','))
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');

/** Undefined for codings that are not known here, and for bytes that are not what they are said to be. */
async function decompress(bytes: Buffer, codings: readonly string[]): Promise<Buffer | undefined> {
  if (codings.length > MAX_CODINGS) return undefined;
  let plain = bytes;
  for (const coding of [...codings].reverse()) {
    const decoder = decompressorOf(coding, plain);
    if (decoder === undefined) return undefined;
    decoder.end(plain);
    try {
      plain = await readUpTo(MAX_BODY_BYTES, decoder as AsyncIterable<Buffer>);
    } catch {
      return undefined;
    }
  }
  return plain;
}

/** A body that was cut at the limit still yields the part that was read. */
function decompressorOf(coding: string, bytes: Buffer) {
  const options = { finishFlush: constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(options);
    case 'deflate':
      // Some servers leave the zlib wrapper out (RFC 9110, 8.4.1.2); its first byte always names method 8.
      return ((bytes[0] ?? 0) & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options);
    case 'br':
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
    default:
      return undefined;
  }
}

/** The charset that the server names, if it can be decoded here; else UTF-8 with replacements. */
function decoderFor(contentType: string | undefined): TextDecoder {
  const charset = /;\s*charset="?([\w-]+)/i.exec(contentType ?? '')?.[1];
  try {
    return new TextDecoder(charset ?? 'utf-8');
  } catch {
    return new TextDecoder();
  }
}
