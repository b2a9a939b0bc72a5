/** Archives that come out the same, byte by byte, whoever makes them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Packs a folder.
 *
 * @param options.folder - its name is the one folder in the archive
 * @param options.time - of all files, in seconds since the epoch
 * @throws Error without GNU tar
 */
export async function pack(options: {
  parent: string;
  folder: string;
  to: string;
  time: number;
}): Promise<void> {
  const { parent, folder, to, time } = options;
  await promisify(execFile)('tar', [
    ...['--create', '--file', to, '--use-compress-program', 'gzip -9 -n'],
    ...['--format', 'ustar', '--sort', 'name', '--mtime', `@${time}`],
    ...['--owner', '0', '--group', '0', '--numeric-owner', '--mode', 'u=rwX,go=rX'],
    ...['--directory', parent, folder],
  ]);
}
