/** Reads what requests bring: never more than is allowed, and bytes only once they have the digest that was said. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { parseJson } from '../../api/core/json.js';
import { DIGEST_HEADER } from '../../api/terraform/operation.js';
import { Refusal } from './refusal.js';

const DIGEST = /^[0-9a-f]{64}$/;
/** Problems of a body that are told. */
const MAX_PROBLEMS = 5;

/**
 * The body as JSON of a form.
 *
 * @throws Refusal `BadRequest`, `TooLarge`
 */
export async function readJson<T>(
  request: IncomingMessage,
  { schema, maxBytes }: { schema: z.ZodType<T>; maxBytes: number },
): Promise<T> {
  return parseBody(await readAll(request, maxBytes), schema);
}

/** The whole body. @throws Refusal `TooLarge` */
export async function readAll(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of readBytes(request, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A body as JSON of a form. @throws Refusal `BadRequest` */
export function parseBody<T>(body: Buffer, schema: z.ZodType<T>): T {
  const read = schema.safeParse(parseJson(body.toString('utf8')));
  if (read.success) return read.data;
  const problems = read.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'the body'}: ${message}`,
  );
  throw new Refusal('BadRequest', problems.slice(0, MAX_PROBLEMS).join('; '));
}

/** The body as it comes. @throws Refusal `TooLarge` */
export async function* readBytes(request: IncomingMessage, maxBytes: number): AsyncIterable<Uint8Array> {
  const tooLarge = (): Refusal => new Refusal('TooLarge', `the body may have ${maxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
    yield chunk;
  }
}

/**
 * The digest that the request says its body has.
 *
 * @returns checks what was found; throws Refusal `DigestMismatch`
 */
export function saidDigest(request: IncomingMessage): (found: string) => void {
  const said = request.headers[DIGEST_HEADER];
  if (typeof said !== 'string' || !DIGEST.test(said))
    throw new Refusal('BadRequest', `header ${DIGEST_HEADER} must be the SHA-256 of the body, in 64 digits`);
  return (found) => {
    if (found !== said) throw new Refusal('DigestMismatch', `the body has digest ${found}, not ${said}`);
  };
}

/** Passes bytes on, and holds the MD5 that a request says against them. @throws Refusal `DigestMismatch` */
export async function* withMd5(
  source: AsyncIterable<Uint8Array>,
  said: string | undefined,
): AsyncIterable<Uint8Array> {
  const hash = createHash('md5');
  for await (const chunk of source) {
    hash.update(chunk);
    yield chunk;
  }
  const found = hash.digest('base64');
  if (found !== said)
    throw new Refusal('DigestMismatch', `the body has Content-MD5 ${found}; ${said ?? 'none'} was said`);
}
