import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parseProcStat, processIdentity } from './process-identity.js';

describe('processIdentity', () => {
  it('is the same for one process at any time, and differs between processes', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const first = await processIdentity(child.pid!);
    expect(first).toBeDefined();
    expect(await processIdentity(child.pid!)).toBe(first);
    expect(await processIdentity(process.pid)).not.toBe(first);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    expect(await processIdentity(child.pid!)).toBeUndefined();
  });

  it('reads session and start time behind a program name with blanks and parentheses', () => {
    const rest = Array.from({ length: 30 }, (_, i) => String(i + 4)).join(' ');
    expect(parseProcStat(`77 (a (b) c) S ${rest}`)).toEqual({
      state: 'S',
      session: 6,
      startTicks: '22',
    });
  });

  it('does not understand what is not a stat line', () => {
    expect(parseProcStat('nonsense')).toBeUndefined();
  });
});
