/** What a configuration may not decide for itself: where its state is kept, and in which form (T5.3). */
import type { Refusal } from '../core/refusal.js';
import { blocksOfTerraform, type FoundBlock } from './hcl-blocks.js';
import { createPlaceReader } from './json-paths.js';

/** A file of the folder that an engine reads. */
export interface ConfigFile {
  /** Its name without folders. */
  name: string;
  text: string;
}

const REASONS: Readonly<Record<string, { reason: string; message: string }>> = {
  backend: {
    reason: 'BackendConflict',
    message: 'Drover keeps the state of a workspace itself; take the block away',
  },
  cloud: {
    reason: 'BackendConflict',
    message: 'Drover keeps the state of a workspace itself; take the block away',
  },
  encryption: {
    reason: 'EncryptionUnsupported',
    message: 'Drover encrypts plans and states itself, and must be able to read them; take the block away',
  },
};

/** Whether an engine reads a file of this name as configuration. Either engine's files count. */
export function isConfigFile(name: string): boolean {
  // As the engines pass over what editors leave behind.
  if (name.startsWith('.') || name.endsWith('~') || (name.startsWith('#') && name.endsWith('#')))
    return false;
  return /\.(tf|tofu)(\.json)?$/.test(name);
}

/**
 * Why a configuration cannot be used: a block `backend` or `cloud` (`BackendConflict`) or `encryption`
 * (`EncryptionUnsupported`) in a top-level `terraform` block. Modules that it calls do not matter: engines pass over such
 * blocks there.
 */
export function refuseConfig(files: readonly ConfigFile[]): Refusal | undefined {
  for (const { name, text } of files) {
    if (!isConfigFile(name)) continue;
    const blocks = name.endsWith('.json') ? jsonBlocks(text) : blocksOfTerraform(text);
    if (blocks === undefined) {
      return {
        reason: 'InvalidConfiguration',
        message: `${name}: brackets are nested too deep to be looked through`,
      };
    }
    for (const { type, line } of blocks) {
      const known = REASONS[type];
      if (known === undefined) continue;
      const message = `${name}, line ${line}: terraform has a block "${type}": ${known.message}`;
      return { reason: known.reason, message };
    }
  }
  return undefined;
}

/** The same in the JSON form, where a block may be an object or a list of them, at each level. */
function jsonBlocks(text: string): FoundBlock[] {
  const found: FoundBlock[] = [];
  const bytes = Buffer.from(text.replace(/^\uFEFF/, ''));
  const reader = createPlaceReader(
    {
      inObject: ['terraform', '{}'],
      inList: ['terraform', '[]', '{}'],
      listed: ['[]', 'terraform', '{}'],
      listedInList: ['[]', 'terraform', '[]', '{}'],
    },
    ({ at, start, text: scalar }) => {
      const type = at.at(-1);
      // A null is no block.
      if (typeof type !== 'string' || scalar === 'null') return;
      found.push({ type, line: bytes.subarray(0, start).toString('utf8').split('\n').length });
    },
  );
  reader.push(bytes);
  return found;
}
