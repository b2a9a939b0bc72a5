import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { group, setting } from './options/option.js';
import type { Program } from './options/option.js';
import { count, oneOf } from './options/types.js';
import { runProgram } from './run-program.js';
import type { ProgramContext, ProgramProcess } from './run-program.js';

const options = group('All', {
  'log-level': setting(oneOf('info', 'warn'), 'info', { means: 'what is logged' }),
  places: setting(count(), '1', { means: 'places' }),
  old: setting(count(), '1', { means: 'old', leaving: 'nobody needs it' }),
});
const program: Program<typeof options> = { name: 'program', summary: 'Does it.', options };
type Context = ProgramContext<{ 'log-level': string; places: number; old: number }>;

/** Runs the program in a process that is not one. */
function start(
  argv: string[],
  run: (context: Context) => Promise<void> = () => Promise.resolve(),
  env: Record<string, string> = {},
) {
  const written = { out: '', err: '', log: '' };
  const process = Object.assign(new EventEmitter(), {
    argv: ['node', 'main.js', ...argv],
    env,
    stdout: { write: (text: string) => (written.out += text) },
    stderr: { write: (text: string) => (written.err += text) },
  });
  const ended = new Promise<number | 'answered'>((resolve) => {
    const exit = resolve as unknown as NodeJS.Process['exit'];
    const log = pino({}, { write: (line: string) => (written.log += line) });
    void runProgram(
      { program, component: 'test', run, log },
      Object.assign(process, { exit }) as unknown as ProgramProcess,
    ).then(() => {
      resolve('answered');
    });
  });
  return { process, ended, written };
}

it('answers --help, and ends with code 2 and all that is wrong', async () => {
  const help = start(['--help']);
  expect(await help.ended).toBe('answered');
  expect(help.written.out).toContain('--places <number>');
  const wrong = start(['--places=none', '--log-level=loud'], () => Promise.reject(new Error('never')));
  expect(await wrong.ended).toBe(2);
  expect(wrong.written.err).toMatch(/^--log-level="loud".*\n--places="none".*\ntry --help\n$/);
});

it('names what is wrong with the variables about traces', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' };
  const { ended, written } = start([], () => Promise.reject(new Error('never')), env);
  expect(await ended).toBe(2);
  expect(written.err).toMatch(
    /^OTEL_EXPORTER_OTLP_ENDPOINT="collector": expected a URL that begins with http/,
  );
});

it('runs with its options, warns of those that go, and ends with code 0', async () => {
  const { ended, written } = start(['--places=3', '--old=2'], ({ config, log }) => {
    log.info(config);
    return Promise.resolve();
  });
  expect(await ended).toBe(0);
  expect(written.log).toMatch(/"level":40,.*--old goes with the next release.*\n.*"places":3/);
});

it('ends with code 1 and says why when it cannot go on', async () => {
  const { ended, written } = start([], () => Promise.reject(new Error('no cluster')));
  expect(await ended).toBe(1);
  expect(written.log).toContain('test cannot go on: no cluster');
});

it('ends at once on a signal until there is something to stop, then when that has stopped', async () => {
  const early = start([], () => new Promise(() => undefined));
  early.process.emit('SIGTERM');
  expect(await early.ended).toBe(0);
  let stops = 0;
  const late = start([], async ({ stopped }) => {
    await stopped();
    stops += 1;
  });
  // It has to have come to where it waits for that.
  await new Promise((resolve) => setImmediate(resolve));
  late.process.emit('SIGINT');
  expect(await late.ended).toBe(0);
  expect(stops).toBe(1);
  expect(late.written.log).toContain('stopping');
});
