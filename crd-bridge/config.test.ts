import { describe, expect, it } from 'vitest';
import { readConfig } from './config.js';

const read = (argv: string[], env: NodeJS.ProcessEnv = {}) => {
  const result = readConfig(argv, env);
  if (result.kind !== 'config') throw new Error(`${result.kind}: ${JSON.stringify(result)}`);
  return result.config;
};

describe('configuration of the bridge', () => {
  it('has defaults that fail closed', () => {
    expect(read([])).toMatchObject({
      'controller-identity': false,
      'health-host': '127.0.0.1',
      'delete-wait': 120_000,
      'orphan-confirm': 30_000,
      silence: 60_000,
    });
  });

  it('takes flags before variables, and durations', () => {
    const env = { DROVER_DELETE_WAIT: '5s', DROVER_CONCURRENCY: '3', DROVER_CONTROLLER_IDENTITY: 'true' };
    expect(read(['--delete-wait=1m30s'], env)).toMatchObject({
      'delete-wait': 90_000,
      concurrency: 3,
      'controller-identity': true,
    });
    expect(read(['--controller-identity'])).toMatchObject({ 'controller-identity': true });
  });

  it('names the flag and the variable of a bad value', () => {
    expect(readConfig(['--delete-wait=soon'], {})).toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/--delete-wait.*DROVER_DELETE_WAIT.*"soon".*30s/) as string,
    });
    expect(readConfig([], { DROVER_CONCURRENCY: '0' })).toMatchObject({ kind: 'invalid' });
    expect(readConfig(['--nonsense=1'], {})).toMatchObject({ kind: 'invalid' });
  });

  it('explains every flag', () => {
    const help = readConfig(['--help'], {});
    expect(help.kind).toBe('help');
    for (const flag of Object.keys(read([]))) {
      expect(help.kind === 'help' && help.text).toContain(`--${flag} `);
    }
  });
});
