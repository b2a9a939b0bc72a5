import { describe, expect, it } from 'vitest';
import { commandLine } from './testing/command-line.js';

function setUp(asKubectlPlugin = false) {
  const line = commandLine({ asKubectlPlugin });
  return { ...line, run: (...args: string[]) => line.program.parseAsync(args, { from: 'user' }) };
}

describe('the command line', () => {
  it('prints its version', async () => {
    const { run, written } = setUp();
    await expect(run('--version')).rejects.toMatchObject({ exitCode: 0 });
    expect(written.join('')).toBe('1.2.3\n');
  });

  it('teaches every command by at least one example, under the name it was called by', async () => {
    const names = setUp(true).program.commands.map((command) => command.name());
    expect(names).toContain('run');
    for (const name of names) {
      const { run, written } = setUp(true);
      await expect(run(name, '--help')).rejects.toMatchObject({ exitCode: 0 });
      expect(written.join('')).toMatch(new RegExp(`Examples:[^]*kubectl dr .*${name}`));
    }
  });

  it('documents its exit codes', async () => {
    const { run, written } = setUp();
    await expect(run('--help')).rejects.toMatchObject({ exitCode: 0 });
    expect(written.join('')).toContain('2    with --watch: the run was Cancelled');
  });

  it('suggests commands and options that were meant', async () => {
    const { run, written } = setUp();
    await expect(run('descrbe', 'x')).rejects.toMatchObject({ code: 'commander.unknownCommand' });
    await expect(run('run', 'x', '--wach')).rejects.toMatchObject({ code: 'commander.unknownOption' });
    expect(written.join('')).toContain('Did you mean describe?');
    expect(written.join('')).toContain('Did you mean --watch?');
  });

  it('refuses a format, a mode and a kind that do not exist', async () => {
    await expect(setUp().run('get', '-o', 'xml')).rejects.toThrow(/json, yaml/);
    await expect(setUp().run('run', 'x', '--run-mode', 'Fast')).rejects.toThrow(/Planned, Emergency, Drill/);
    await expect(setUp().run('get', 'pods')).rejects.toThrow(
      '"pods" is none of workflows, plans, executions, policies',
    );
    await expect(setUp().run('cancel', 'plan/web')).rejects.toThrow('does not name an execution');
    await expect(setUp().run('cancel', 'web', '--terminate', '--force')).rejects.toThrow(
      /--terminate.*--force/,
    );
  });

  it('gives a command its context wherever the options stand', async () => {
    const { run, codes, out } = setUp();
    await run('--data-dir', '/nonexistent/one', 'status', '-o', 'json');
    await run('status', '--data-dir', '/nonexistent/two', '-o', 'json');
    expect(codes).toEqual([3, 3]);
    expect(out.map((text) => (JSON.parse(text) as { dataDir: string }).dataDir)).toEqual([
      '/nonexistent/one',
      '/nonexistent/two',
    ]);
  });
});
