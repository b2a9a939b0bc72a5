import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dataDirProblem, makeDataDir } from './data-dir.js';
import { doctor, up } from './index.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-dir-'));
});
afterEach(async () => {
  await chmod(folder, 0o700);
  await rm(folder, { recursive: true, force: true });
});

describe('a data dir', () => {
  it('that is not there yet can be made, and is not by looking [F24]', async () => {
    const root = join(folder, 'a', 'b');
    expect(await dataDirProblem(root)).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
    await makeDataDir(root);
    expect(await readdir(join(folder, 'a'))).toEqual(['b']);
  });

  it('that is a file, or below one, is told by up and doctor before anything is done [F24]', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    for (const dataDir of [file, join(file, 'below')]) {
      await expect(up({ dataDir, progress: () => undefined })).rejects.toThrow(
        `the data dir ${dataDir} cannot be used: ${file} is not a folder; choose another with --data-dir`,
      );
      expect(await doctor({ dataDir })).toContainEqual(
        expect.objectContaining({
          subject: 'data dir',
          level: 'problem',
          message: `${file} is not a folder`,
        }),
      );
    }
  });

  // Who may do everything is refused nothing.
  it.skipIf(process.getuid?.() === 0)('that may not be written is told in words [F24]', async () => {
    await chmod(folder, 0o500);
    for (const dataDir of [folder, join(folder, 'new')]) {
      const problem = `${folder} cannot be written: permission denied`;
      await expect(makeDataDir(dataDir)).rejects.toThrow(problem);
      expect(await doctor({ dataDir })).toContainEqual(
        expect.objectContaining({ subject: 'data dir', level: 'problem', message: problem }),
      );
    }
  });
});
