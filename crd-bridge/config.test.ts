import { describe, expect, it } from 'vitest';
import { readOptions } from '../runtime/options/read-options.js';
import { BRIDGE } from './config.js';

type Env = Record<string, string>;
const read = (argv: string[], env: Env = {}) => {
  const result = readOptions(BRIDGE, argv, env);
  if (result.kind !== 'values') throw new Error(JSON.stringify(result));
  return result.values;
};
const problem = (argv: string[], env: Env = {}): string => {
  const result = readOptions(BRIDGE, argv, env);
  return result.kind === 'invalid' ? result.problems.join('\n') : result.kind;
};

describe('the options of the bridge', () => {
  it('have defaults that fail closed [S5.55]', () => {
    expect(read([])).toMatchObject({
      'controller-identity': false,
      'health-host': '127.0.0.1',
      'delete-wait': 120_000,
      'undo-step': 900_000,
      settle: 300_000,
      'stop-wait': 300_000,
      'orphan-confirm': 30_000,
      silence: 30_000,
      'task-wait': 30_000,
      'last-attempt': 10_000,
    });
  });

  it('that are times are refused where a timer would fire at once, and again and again', () => {
    for (const name of ['silence', 'orphan-interval', 'resync', 'snapshot-unused', 'settle']) {
      expect(problem([`--${name}=0s`])).toContain('at least 1ms');
      expect(problem([`--${name}=8760h`])).toContain('at most 576h');
      expect(read([`--${name}=576h`])).toMatchObject({ [name]: 576 * 3_600_000 });
    }
    expect(read(['--plan-wait=0s', '--ttl-after-finished=8760h'])).toMatchObject({
      'plan-wait': 0,
      'ttl-after-finished': 8760 * 3_600_000,
    });
  });

  it('of retention are off unless they are set, and an empty variable sets nothing', () => {
    const env = { DROVER_HISTORY_LIMIT: '', DROVER_TTL_AFTER_FINISHED: '' };
    for (const values of [read([]), read([], env)]) {
      expect(values['history-limit']).toBeUndefined();
      expect(values['ttl-after-finished']).toBeUndefined();
    }
    expect(read(['--history-limit=0', '--ttl-after-finished=24h'])).toMatchObject({
      'history-limit': 0,
      'ttl-after-finished': 86_400_000,
    });
    expect(problem(['--history-limit=-1'])).toContain('a whole number from 0');
    expect(problem(['--ttl-after-finished=soon'])).toContain('a duration');
  });

  it('of admission are off without a port, and take certificate files only as a pair', () => {
    expect(read([])).toMatchObject({ 'webhook-register': true, 'webhook-certificate-life': 90 * 86_400_000 });
    expect(read([])['webhook-port']).toBeUndefined();
    const env = { DROVER_WEBHOOK_PORT: '9443', DROVER_WEBHOOK_REGISTER: 'false' };
    expect(read([], env)).toMatchObject({ 'webhook-port': 9443, 'webhook-register': false });
    expect(problem(['--webhook-cert=a'])).toContain('webhook-key');
    expect(problem(['--webhook-url=http://x'])).toContain('https');
    expect(problem(['--webhook-service=a/b'])).toContain('NAME:PORT');
  });

  it('of ports are different from each other, but for probes and metrics', () => {
    expect(problem(['--webhook-port=9443', '--profile-port=9443'])).toBe(
      '--profile-port and --webhook-port are both 9443: give each a port of its own',
    );
    expect(problem(['--health-port=8081', '--metrics-port=8081'])).toBe('values');
    expect(problem(['--health-port=0', '--profile-port=0'])).toBe('values');
  });

  it('of the codec endpoint ask for keys', () => {
    expect(problem(['--codec-port=8088'])).toContain('--encryption-keys');
    expect(problem(['--codec-port=8088'], { DROVER_ENCRYPTION_KEYS: '' })).toContain(
      'DROVER_ENCRYPTION_KEYS=""',
    );
    expect(
      read(['--codec-port=8088', '--encryption-keys=/keys', '--codec-origins=https://a, https://b']),
    ).toMatchObject({
      'codec-origins': ['https://a', 'https://b'],
    });
  });

  it('look for the controller before unless they are told not to', () => {
    expect(read([])['previous-controller']).toEqual(['drplan-controller']);
    expect(read([], { DROVER_PREVIOUS_CONTROLLER: '' })['previous-controller']).toEqual([]);
    expect(read(['--previous-controller='])['previous-controller']).toEqual([]);
  });

  it('that go are still taken, with a warning', () => {
    const result = readOptions(BRIDGE, ['--mirror-debounce=1s'], { DROVER_CACHE_CHECK: '1m' });
    expect(result).toMatchObject({
      kind: 'values',
      values: { 'mirror-debounce': 1_000, 'cache-check': 60_000 },
      warnings: [
        expect.stringMatching(/^DROVER_CACHE_CHECK goes with the next release: .*leave it out$/),
        expect.stringMatching(/^--mirror-debounce goes with the next release: /),
      ],
    });
  });
});
