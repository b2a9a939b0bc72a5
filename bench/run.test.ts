import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createProgress } from './lib/progress.js';
import { parseOptions } from './options.js';
import { runBench } from './run.js';
import { SCENARIOS } from './scenarios/index.js';

const silent = createProgress({ write: () => true } as unknown as NodeJS.WriteStream);

afterEach(() => {
  vi.useRealTimers();
});

describe('a measurement that cannot begin', () => {
  it('says why, and leaves nothing that keeps the command from ending', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const parsed = parseOptions(
      ['latency', '--peer', 'bcs', '--kubeconfig', join(tmpdir(), 'no-such-kubeconfig')],
      SCENARIOS,
    );
    if (parsed.kind !== 'run') throw new Error(JSON.stringify(parsed));
    await expect(runBench(parsed.options, silent, new AbortController().signal)).rejects.toThrow(
      /no-such-kubeconfig/,
    );
    expect(vi.getTimerCount()).toBe(0);
  });
});
