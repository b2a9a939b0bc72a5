import { mkdtemp, readFile, rm, stat, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseSealKeys } from '../api/core/seal.js';
import { ensureSealRing } from './seal-ring.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-seal-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('[F17] up keeps a ring of one key that only its owner reads, and keeps its keys', async () => {
  const path = join(folder, 'data', 'ring.json');
  await ensureSealRing(path);
  const made = await readFile(path, 'utf8');
  expect(parseSealKeys(JSON.parse(made) as Record<string, string>)).toHaveLength(1);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await chmod(path, 0o644);
  await ensureSealRing(path);
  expect(await readFile(path, 'utf8')).toBe(made);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});
