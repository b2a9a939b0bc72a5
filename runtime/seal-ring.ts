import type { Logger } from 'pino';
import { readEntries } from './entries-file.js';
import { openRing } from './ring.js';
import type { Ring } from './ring.js';

/**
 * Opens the ring of seal keys, from a file or from the installation's Secret, and waits until it can be read: without
 * it no program can tell a genuine task from a forged one, so none is ready.
 *
 * @param options.file absent: the Secret
 * @param options.parse makes keys from the entries; throws when they are no keys
 * @param options.onWait called with what is missing meanwhile
 */
export function openSealRing<T>(options: {
  file: string | undefined;
  secret: () => Promise<Record<string, string>>;
  parse: (entries: Record<string, string>) => T;
  log: Logger;
  onWait: (problem: string) => void;
}): Promise<Ring<T>> {
  const { file, secret, parse, log, onWait } = options;
  return openRing({
    read: async () => parse(await (file === undefined ? secret() : readEntries(file))),
    onWait: (error) => {
      log.warn({ err: error }, 'the keys of seals cannot be read; trying again');
      onWait(`keys of seals: ${error instanceof Error ? error.message : String(error)}`);
    },
    onFault: (error) => {
      log.error({ err: error }, 'the keys of seals cannot be read again: those read before stay in use');
    },
  });
}
