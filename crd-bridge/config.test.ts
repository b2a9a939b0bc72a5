import { describe, expect, it } from 'vitest';
import { readConfig } from './config.js';

const read = (argv: string[], env: NodeJS.ProcessEnv = {}) => {
  const result = readConfig(argv, env);
  if (result.kind !== 'config') throw new Error(`${result.kind}: ${JSON.stringify(result)}`);
  return result.config;
};

describe('configuration of the bridge', () => {
  it('has defaults that fail closed [S5.55]', () => {
    expect(read([])).toMatchObject({
      'controller-identity': false,
      'health-host': '127.0.0.1',
      'delete-wait': 120_000,
      'undo-step': 900_000,
      settle: 300_000,
      'stop-wait': 300_000,
      'orphan-confirm': 30_000,
      silence: 30_000,
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

  it('explains every flag [S5.55]', () => {
    const help = readConfig(['--help'], {});
    expect(help.kind).toBe('help');
    for (const flag of Object.keys(read([]))) {
      expect(help.kind === 'help' && help.text).toContain(`--${flag} `);
    }
  });

  it('of retention: off unless it is set, and an empty variable sets nothing', () => {
    const env = { DROVER_HISTORY_LIMIT: '', DROVER_TTL_AFTER_FINISHED: '' };
    for (const config of [read([]), read([], env)]) {
      expect(config['history-limit']).toBeUndefined();
      expect(config['ttl-after-finished']).toBeUndefined();
    }
    expect(read(['--history-limit=0', '--ttl-after-finished=24h'])).toMatchObject({
      'history-limit': 0,
      'ttl-after-finished': 86_400_000,
    });
    expect(readConfig(['--history-limit=-1'], {}).kind).toBe('invalid');
    expect(readConfig(['--ttl-after-finished=soon'], {}).kind).toBe('invalid');
  });

  it('of admission: off without a port, and certificate files only as a pair', () => {
    expect(read([])).toMatchObject({ 'webhook-register': true, 'webhook-certificate-life': 90 * 86_400_000 });
    expect(read([])['webhook-port']).toBeUndefined();
    const env = { DROVER_WEBHOOK_PORT: '9443', DROVER_WEBHOOK_REGISTER: 'false' };
    expect(read([], env)).toMatchObject({ 'webhook-port': 9443, 'webhook-register': false });
    const wrong = (...argv: string[]) => readConfig(argv, {});
    expect(wrong('--webhook-cert=a')).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('webhook-key'),
    });
    expect(wrong('--webhook-url=http://x')).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('https'),
    });
    expect(wrong('--webhook-service=a/b')).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('NAME:PORT'),
    });
  });
});
