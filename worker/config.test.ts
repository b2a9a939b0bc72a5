import { describe, expect, it } from 'vitest';
import { loadConfig } from './config.js';

describe('loadConfig', () => {
  it('has safe defaults: no controller identity, no loopback, a grace time', () => {
    expect(loadConfig({})).toMatchObject({
      controllerIdentity: false,
      egress: { allowLoopback: false, allow: [], deny: [] },
      shutdownGraceMs: 30_000,
      healthHost: '127.0.0.1',
    });
  });

  it('reads lists, flags and numbers', () => {
    expect(
      loadConfig({
        DROVER_EGRESS_ALLOW: 'gslb.example.com, 10.0.0.0/8,',
        DROVER_CONTROLLER_IDENTITY: 'true',
        DROVER_SHUTDOWN_GRACE_SECONDS: '5',
      }),
    ).toMatchObject({
      egress: { allow: ['gslb.example.com', '10.0.0.0/8'] },
      controllerIdentity: true,
      shutdownGraceMs: 5000,
    });
  });

  it('reads the endpoints that no action reaches, and says which one it cannot read [F18]', () => {
    expect(
      loadConfig({
        DROVER_EGRESS_NEVER: 'drover-webhook.drover-system:443, [::1]:8234,',
        DROVER_TEMPORAL_UI: 'https://temporal.example.com',
      }),
    ).toMatchObject({
      never: [
        { host: 'drover-webhook.drover-system', port: 443 },
        { host: '::1', port: 8234 },
      ],
      temporalUi: { host: 'temporal.example.com', port: 443 },
    });
    expect(loadConfig({ DROVER_EGRESS_NEVER: '', DROVER_TEMPORAL_UI: '' })).toMatchObject({ never: [] });
    expect(() => loadConfig({ DROVER_EGRESS_NEVER: 'temporal:7233,codec' })).toThrow(
      /DROVER_EGRESS_NEVER=.*"codec": expected HOST:PORT/,
    );
  });

  it('reads the name of its build, its own or as Temporal’s worker controller gives it', () => {
    expect(loadConfig({})).toMatchObject({ pinsRuns: false });
    expect(loadConfig({}).buildId).toBeUndefined();
    expect(loadConfig({ DROVER_BUILD_ID: 'blue', DROVER_PIN_RUNS: 'true' })).toMatchObject({
      buildId: 'blue',
      pinsRuns: true,
    });
    const given = { TEMPORAL_WORKER_BUILD_ID: 'v2', TEMPORAL_DEPLOYMENT_NAME: 'ns/workers' };
    expect(loadConfig(given)).toMatchObject({ buildId: 'v2', deploymentName: 'ns/workers', pinsRuns: true });
    expect(() => loadConfig({ DROVER_BUILD_ID: 'a b' })).toThrow(
      /DROVER_BUILD_ID="a b": expected at most 63/,
    );
  });

  it('names every variable that is wrong, with its value', () => {
    expect(() => loadConfig({ DROVER_METRICS_PORT: '99999', DROVER_CONTROLLER_IDENTITY: 'maybe' })).toThrow(
      /DROVER_METRICS_PORT="99999".*DROVER_CONTROLLER_IDENTITY="maybe"|DROVER_CONTROLLER_IDENTITY="maybe".*DROVER_METRICS_PORT="99999"/,
    );
  });
});
