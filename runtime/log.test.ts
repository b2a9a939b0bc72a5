import { existsSync } from 'node:fs';
import { open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createLog } from './log.js';

it('writes a line of JSON for each entry, with who wrote it', async () => {
  const path = join(tmpdir(), `drover-log-${process.pid}`);
  const file = await open(path, 'w');
  onTestFinished(async () => {
    await file.close();
    await rm(path);
  });
  const log = createLog({ component: 'bridge', fd: file.fd });
  log.debug('not this');
  log.info({ plan: 'p' }, 'that');
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 30, component: 'bridge', plan: 'p', msg: 'that' },
  ]);
});

// A device that is always full, as a disk may be.
it.runIf(existsSync('/dev/full'))('goes on where nothing can be written', async () => {
  const file = await open('/dev/full', 'w');
  onTestFinished(() => file.close());
  const log = createLog({ component: 'bridge', fd: file.fd });
  for (let count = 0; count < 100; count += 1) log.info({ count }, 'x'.repeat(50_000));
  await new Promise((resolve) => setTimeout(resolve, 50));
});
