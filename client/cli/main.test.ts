import { expect, it } from 'vitest';
import { main } from './main.js';

async function failing(...args: string[]): Promise<{ written: string; exitCode: unknown }> {
  let written = '';
  const stream = {
    isTTY: true,
    columns: 80,
    on: () => undefined,
    write: (text: string) => {
      written += text;
    },
  };
  const process = {
    argv: ['node', 'drover', ...args],
    env: { TERM: 'xterm-256color' },
    stdin: { isTTY: false },
    stdout: stream,
    stderr: stream,
    exitCode: undefined,
  };
  await main(process as unknown as NodeJS.Process);
  return { written, exitCode: process.exitCode };
}

it('a failure is told without colours where none are wanted, wherever that is said [F24]', async () => {
  const coloured = await failing('get', 'pods');
  expect(coloured).toMatchObject({
    written: expect.stringContaining('\x1b[31merror:') as string,
    exitCode: 64,
  });
  for (const args of [
    ['--no-color', 'get', 'pods'],
    ['get', 'pods', '--no-color'],
  ]) {
    const { written } = await failing(...args);
    expect(written).toMatch(/^error: "pods" is none of/);
    expect(written).not.toContain('\x1b');
  }
});
