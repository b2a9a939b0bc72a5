import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { chainCodecs, compressingConverter, createCompressionCodec } from '../compression.js';
import { keyFolder } from './key-folder.js';
import { openKeyRing } from './key-ring.js';
import { createEncryptionCodec } from './payload-codec.js';
import type { KeySource } from './key-ring.js';

/** Module that the encrypted workflow bundle converts failures with. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(new URL('./failure-converter.js', import.meta.url));

/** Whether only those who hold the keys can read what a converter writes. */
export const isEncrypted = (converter: DataConverter): boolean =>
  converter.failureConverterPath !== undefined;

/**
 * The data converter of an installation: large payloads are compressed, and with keys all are encrypted. Its one codec does
 * both.
 *
 * @param options.keys a folder of keys or a source of them; absent: payloads stay in the clear
 * @throws KeyRingError when the keys cannot be used: never falls back to the clear
 */
export async function createDataConverter(options: {
  keys: string | KeySource | undefined;
  onFault: (error: unknown) => void;
}): Promise<DataConverter> {
  const { keys, onFault } = options;
  if (keys === undefined) return compressingConverter();
  const ring = await openKeyRing({ source: typeof keys === 'string' ? keyFolder(keys) : keys, onFault });
  return {
    payloadCodecs: [chainCodecs(createCompressionCodec(), createEncryptionCodec(ring))],
    failureConverterPath: FAILURE_CONVERTER_PATH,
  };
}
