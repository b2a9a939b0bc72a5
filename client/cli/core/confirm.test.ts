import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ask } from './confirm.js';
import { createStyle } from './render/style.js';

/** Asks, types `typed`, and tells the answer with all that was written. */
async function asked(typed: string, color: boolean): Promise<{ answer: boolean; written: string }> {
  const input = new PassThrough();
  const output = new PassThrough();
  let written = '';
  output.on('data', (chunk: Buffer) => {
    const wasAsked = written.includes('(y/N)');
    written += chunk.toString();
    // It listens once what it has written is out.
    if (!wasAsked && written.includes('(y/N)')) setImmediate(() => input.write(typed));
  });
  const answer = await ask('Start this run?', createStyle({ color, unicode: true }), { input, output });
  return { answer, written };
}

// oxlint-disable-next-line no-control-regex -- the sequences that set colours are what is looked for
const COLOURS = /\x1b\[[0-9;]*m/;

describe('a question', () => {
  it('is asked without colours where none are wanted [F24]', async () => {
    const plain = await asked('y\r', false);
    expect(plain.answer).toBe(true);
    expect(plain.written).toContain('Start this run?');
    expect(plain.written).not.toMatch(COLOURS);
    expect((await asked('y\r', true)).written).toMatch(COLOURS);
  });

  it('is answered with no unless somebody says yes', async () => {
    expect((await asked('\r', false)).answer).toBe(false);
    expect((await asked('n\r', false)).answer).toBe(false);
    expect((await asked('yellow\r', false)).answer).toBe(false);
    expect((await asked('Yes\r', false)).answer).toBe(true);
  });

  it('is answered with no where the input ends', async () => {
    const input = new PassThrough();
    const asking = ask('Start?', createStyle({ color: false, unicode: true }), {
      input,
      output: new PassThrough(),
    });
    input.end();
    expect(await asking).toBe(false);
  });
});
