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

  it('names every variable that is wrong, with its value', () => {
    expect(() => loadConfig({ DROVER_METRICS_PORT: '99999', DROVER_CONTROLLER_IDENTITY: 'maybe' })).toThrow(
      /DROVER_METRICS_PORT="99999".*DROVER_CONTROLLER_IDENTITY="maybe"|DROVER_CONTROLLER_IDENTITY="maybe".*DROVER_METRICS_PORT="99999"/,
    );
  });
});
