import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { canMeasure, cpuSecondsOf, memoryOf, usageOf } from './processes.js';

describe('what /proc says', () => {
  it('adds user and system time, that of ended children too, whatever the program is called', () => {
    const before = '4242 (a name) with ( in it) S 1 4242 4242 0 -1 4194560 1 2 3 4';
    expect(cpuSecondsOf(`${before} 150 50 7 8 20 0 11 0 123456 1 2`)).toBe(2.15);
  });
  it('reads memory in KiB as MiB', () => {
    expect(memoryOf('Name:\tnode\nVmPeak:\t9999999 kB\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\n')).toEqual({
      rssMiB: 100,
      peakMiB: 200,
    });
  });
  it.runIf(canMeasure)('measures this very process, and none that is not there', async () => {
    const usage = await usageOf(process.pid);
    expect(usage?.cpuSeconds).toBeGreaterThan(0);
    expect(usage?.peakMiB).toBeGreaterThanOrEqual((usage?.rssMiB ?? 0) * 0.5);
    expect(await usageOf(2 ** 30)).toBeUndefined();
  });
  it.runIf(canMeasure)('counts what a process has others do', async () => {
    const script = 'n=0; while [ $n -lt 300000 ]; do n=$((n+1)); done; read wait';
    const shell = spawn('sh', ['-c', `sh -c '${script}'; exit`], { stdio: ['pipe', 'ignore', 'ignore'] });
    try {
      await vi.waitFor(
        async () => {
          expect((await usageOf(shell.pid ?? 0))?.cpuSeconds).toBeGreaterThan(0.05);
        },
        { timeout: 20_000, interval: 50 },
      );
    } finally {
      const ended = once(shell, 'exit');
      shell.stdin.end('\n');
      await ended;
    }
  });
});
