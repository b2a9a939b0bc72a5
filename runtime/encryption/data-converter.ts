import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { keyFolder } from './key-folder.js';
import { openKeyRing } from './key-ring.js';
import { createEncryptionCodec } from './payload-codec.js';
import type { KeySource } from './key-ring.js';

/** Module that the encrypted workflow bundle converts failures with. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(new URL('./failure-converter.js', import.meta.url));

/** How payloads are written; undefined: in the clear, as Temporal's own programs read them. */
export type Encryption = DataConverter | undefined;

/**
 * The data converter of an installation.
 *
 * @param options.keys a folder of keys or a source of them; absent: payloads stay in the clear
 * @throws KeyRingError when the keys cannot be used: never falls back to the clear
 */
export async function createDataConverter(options: {
  keys: string | KeySource | undefined;
  onFault: (error: unknown) => void;
}): Promise<Encryption> {
  const { keys, onFault } = options;
  if (keys === undefined) return undefined;
  const ring = await openKeyRing({ source: typeof keys === 'string' ? keyFolder(keys) : keys, onFault });
  return { payloadCodecs: [createEncryptionCodec(ring)], failureConverterPath: FAILURE_CONVERTER_PATH };
}
