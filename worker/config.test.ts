import { describe, expect, it } from 'vitest';
import { readOptions } from '../runtime/options/read-options.js';
import { WORKER } from './config.js';

type Env = Record<string, string>;
const read = (env: Env, argv: string[] = []) => {
  const result = readOptions(WORKER, argv, env);
  if (result.kind !== 'values') throw new Error(JSON.stringify(result));
  return result.values;
};
const problem = (env: Env): string => {
  const result = readOptions(WORKER, [], env);
  return result.kind === 'invalid' ? result.problems.join('\n') : result.kind;
};

describe('the options of the worker', () => {
  it('have safe defaults: no controller identity, no loopback, a grace time', () => {
    expect(read({})).toMatchObject({
      'controller-identity': false,
      'egress-allow-loopback': false,
      'egress-allow': [],
      'egress-deny': [],
      'shutdown-grace-seconds': 30,
      'health-host': '127.0.0.1',
      'pin-runs': false,
    });
    expect(read({})['health-port']).toBeUndefined();
  });

  it('are variables or flags', () => {
    const env = { DROVER_EGRESS_ALLOW: 'gslb.example.com, 10.0.0.0/8,', DROVER_CONTROLLER_IDENTITY: '1' };
    expect(read(env, ['--shutdown-grace-seconds', '5', '--max-waits=7'])).toMatchObject({
      'egress-allow': ['gslb.example.com', '10.0.0.0/8'],
      'controller-identity': true,
      'shutdown-grace-seconds': 5,
      'max-waits': 7,
    });
  });

  it('name the endpoints that no action reaches, and say which one makes no sense [F18]', () => {
    expect(
      read({
        DROVER_EGRESS_NEVER: 'drover-webhook.drover-system:443, [::1]:8234,',
        DROVER_TEMPORAL_UI: 'https://temporal.example.com',
      }),
    ).toMatchObject({
      'egress-never': [
        { host: 'drover-webhook.drover-system', port: 443 },
        { host: '::1', port: 8234 },
      ],
      'temporal-ui': { host: 'temporal.example.com', port: 443 },
    });
    const empty = read({ DROVER_EGRESS_NEVER: '', DROVER_TEMPORAL_UI: '' });
    expect(empty['egress-never']).toEqual([]);
    expect(empty['temporal-ui']).toBeUndefined();
    expect(problem({ DROVER_EGRESS_NEVER: 'temporal:7233,codec' })).toMatch(
      /DROVER_EGRESS_NEVER=.*"codec": expected HOST:PORT/,
    );
  });

  it('take the name of the build, its own or as Temporal’s worker controller gives it', () => {
    expect(read({})['build-id']).toBeUndefined();
    const given = { TEMPORAL_WORKER_BUILD_ID: 'v2', TEMPORAL_DEPLOYMENT_NAME: 'ns/workers' };
    expect(read(given)).toMatchObject({ 'build-id': 'v2', 'deployment-name': 'ns/workers' });
    expect(read({ ...given, DROVER_BUILD_ID: '' })).toMatchObject({ 'build-id': 'v2' });
    expect(read({ ...given, DROVER_BUILD_ID: 'blue' })).toMatchObject({ 'build-id': 'blue' });
    expect(problem({ DROVER_BUILD_ID: 'a b' })).toMatch(/DROVER_BUILD_ID="a b".*expected at most 63/);
  });

  it('of ports are different from each other', () => {
    expect(problem({ DROVER_METRICS_PORT: '9000', DROVER_PROFILE_PORT: '9000' })).toContain(
      '--metrics-port and --profile-port are both 9000',
    );
  });

  it('bound what is done at once', () => {
    expect(problem({ DROVER_MAX_ACTIVITIES: '10001' })).toContain('from 1 to 10000');
    expect(read({ DROVER_MAX_ACTIVITIES: '' })).toMatchObject({ 'max-activities': 200 });
  });
});
