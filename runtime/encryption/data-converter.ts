import { join } from 'node:path';
import type { DataConverter } from '@temporalio/common';
import { chainCodecs, compressingConverter, createCompressionCodec } from '../compression.js';
import { packageRoot } from '../package-root.js';
import { keyFolder } from './key-folder.js';
import { openKeyRing } from './key-ring.js';
import { createEncryptionCodec } from './payload-codec.js';
import type { KeySource } from './key-ring.js';

/** Module that programs and the encrypted workflow bundle load to convert failures; built. */
export const FAILURE_CONVERTER_PATH = join(
  packageRoot(),
  ...['dist', 'runtime', 'encryption', 'failure-converter.js'],
);

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
