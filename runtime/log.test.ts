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

it('[F1] tells an error and its causes in a few words, without the objects that it carries', async () => {
  const path = join(tmpdir(), `drover-log-error-${process.pid}`);
  const file = await open(path, 'w');
  onTestFinished(async () => {
    await file.close();
    await rm(path);
  });
  const log = createLog({ component: 'bridge', fd: file.fd });
  const content = 'secret'.repeat(150_000);
  const error = Object.assign(
    new Error(`ConfigMap "a" is invalid: ${content}: field is immutable`, {
      cause: new Error(`answered ${content}`),
    }),
    { code: 422, reason: 'Invalid', details: { causes: [{ message: content }] } },
  );
  log.warn({ err: error }, 'refused');
  log.warn({ error }, 'refused too');
  const text = await readFile(path, 'utf8');
  expect(text.length).toBeLessThan(12_000);
  const [line, other] = text
    .trimEnd()
    .split('\n')
    .map((entry) => JSON.parse(entry) as Record<string, object>);
  expect(line?.err).toMatchObject({ type: 'Error', code: 422, reason: 'Invalid' });
  expect(line?.err).toMatchObject({
    message: expect.stringMatching(/^ConfigMap "a" is invalid: .* characters\)/) as string,
  });
  expect(line?.err).toMatchObject({
    message: expect.stringContaining('field is immutable; caused by: answered') as string,
  });
  expect(line?.err).toMatchObject({ stack: expect.stringMatching(/^at .*log\.test/) as string });
  expect(line?.err).not.toHaveProperty('details');
  expect(other?.error).toEqual(line?.err);
});

// A device that is always full, as a disk may be.
it.runIf(existsSync('/dev/full'))('goes on where nothing can be written', async () => {
  const file = await open('/dev/full', 'w');
  onTestFinished(() => file.close());
  const log = createLog({ component: 'bridge', fd: file.fd });
  const entries = Array.from({ length: 100 }, (_, count) => ({ count }));
  expect(() => {
    for (const entry of entries) log.info(entry, 'x'.repeat(50_000));
  }).not.toThrow();
  // An error of the stream comes later; one that nobody hears would end the process.
  await new Promise((resolve) => setTimeout(resolve, 50));
});
