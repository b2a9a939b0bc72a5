import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mirrorState, type MirrorOptions, type StateMirror } from './state-mirror.js';

let folder: string;
let file: string;
let erroredFile: string;
let stored: string[];
let problems: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-mirror-'));
  file = join(folder, 'terraform.tfstate');
  erroredFile = join(folder, 'errored.tfstate');
  stored = [];
  problems = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const state = (serial: number, more: object = {}): string =>
  JSON.stringify({
    version: 4,
    terraform_version: '1.11.4',
    serial,
    lineage: 'l',
    outputs: {},
    resources: [],
    ...more,
  });
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const factsOf = (text: string) => {
  const { serial, lineage } = JSON.parse(text) as { serial: number; lineage: string };
  return { digest: digestOf(text), facts: { serial, lineage, engineVersion: '1.11.4', bytes: text.length } };
};

function follow(over: Partial<MirrorOptions> = {}): StateMirror {
  return mirrorState({
    ...{ file, erroredFile, kept: join(folder, 'kept'), before: undefined, lookMs: 5 },
    store: async (path, digest) => {
      const text = await readFile(path, 'utf8');
      expect(digestOf(text)).toBe(digest);
      stored.push(text);
    },
    onProblem: (problem) => problems.push(problem),
    ...over,
  });
}

async function until(done: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !done(); i += 1) await sleep(5);
  expect(done()).toBe(true);
}

it('each whole content is stored once, and the last is the end [T8.4]', async () => {
  const mirror = follow();
  await writeFile(file, state(1));
  await until(() => stored.length === 1);
  await writeFile(file, state(2));
  await until(() => stored.length === 2);
  await sleep(50);
  expect(stored).toEqual([state(1), state(2)]);
  expect(await mirror.finish()).toEqual({ state: { kind: 'whole', ...factsOf(state(2)) }, path: file });
});

it('what is written while nobody looks is found at the end', async () => {
  const mirror = follow({ lookMs: 60_000 });
  await sleep(20);
  await writeFile(file, state(3));
  const end = mirror.finish();
  // The look that waits is not waited for longer than it takes.
  await expect(Promise.race([end, sleep(5000, 'late')])).resolves.toMatchObject({ state: { kind: 'whole' } });
});

describe('torn reads are repeated, never stored [T8.4]', () => {
  it.each([
    ['empty', ''],
    ['cut', state(2).slice(0, -1)],
    ['of another lineage', state(2, { lineage: 'other' })],
    ['of a lower serial', state(0)],
    ['longer than it should be', `${state(2)}]}`],
  ])('%s', async (_, torn) => {
    const mirror = follow();
    await writeFile(file, state(1));
    await until(() => stored.length === 1);
    await writeFile(file, torn);
    await sleep(50);
    expect(stored).toEqual([state(1)]);
    const { state: found, path } = await mirror.finish();
    expect(found).toMatchObject({ kind: 'torn', last: factsOf(state(1)) });
    expect(await readFile(path, 'utf8')).toBe(state(1));
  });

  it('a content that was torn when it was read first is stored when it is whole, though the file looks the same', async () => {
    const mirror = follow();
    await writeFile(file, state(1));
    await until(() => stored.length === 1);
    await truncate(file, 0);
    await sleep(30);
    await writeFile(file, state(2));
    await until(() => stored.length === 2);
    await mirror.finish();
    expect(stored).toEqual([state(1), state(2)]);
  });

  it('a file that is written in place over and over is never stored half', async () => {
    const mirror = follow({ lookMs: 0 });
    for (let serial = 1; serial <= 150; serial += 1) {
      const text = state(serial, { resources: [{ pad: 'x'.repeat((serial * 7919) % 5000) }] });
      await writeFile(file, text.slice(0, 40));
      await writeFile(file, text);
    }
    const { state: found } = await mirror.finish();
    expect(found).toMatchObject({ kind: 'whole', facts: { serial: 150 } });
    const serials = stored.map((text) => (JSON.parse(text) as { serial: number }).serial);
    expect(serials.length).toBeGreaterThan(0);
    expect(serials).toEqual([...new Set(serials)].sort((a, b) => a - b));
  });
});

it('what the engine could not write into its file counts where it is newer [T8.6]', async () => {
  await writeFile(file, state(1));
  await writeFile(erroredFile, state(4));
  expect(await follow().finish()).toEqual({
    state: { kind: 'whole', ...factsOf(state(4)) },
    path: erroredFile,
  });
  await writeFile(erroredFile, state(1, { resources: [{}] }));
  expect(await follow().finish()).toMatchObject({ path: file });
  await writeFile(file, '');
  expect(await follow().finish()).toMatchObject({ path: erroredFile, state: { kind: 'whole' } });
});

it('no state at all is none, and one that is gone is torn', async () => {
  expect(await follow().finish()).toMatchObject({ state: { kind: 'none' } });
  const gone = await follow({ before: factsOf(state(1)) }).finish();
  expect(gone.state).toEqual({ kind: 'torn', problem: 'the file is gone' });
});

it('a state that is as it was is not stored again', async () => {
  await writeFile(file, state(1));
  const mirror = follow({ before: factsOf(state(1)) });
  await sleep(50);
  expect(await mirror.finish()).toMatchObject({ state: { kind: 'whole', digest: digestOf(state(1)) } });
  expect(stored).toEqual([]);
});

it('a content that could not be stored is stored later, or the next one in its place', async () => {
  let isDown = true;
  const mirror = follow({
    store: async (path) => {
      if (isDown) throw new Error('nobody there');
      stored.push(await readFile(path, 'utf8'));
    },
  });
  await writeFile(file, state(1));
  await until(() => problems.length === 1);
  await writeFile(file, state(2));
  await sleep(30);
  isDown = false;
  await until(() => stored.length === 1);
  await mirror.finish();
  expect(stored).toEqual([state(2)]);
  expect(problems).toEqual(['nobody there']);
});
