import { describe, expect, it } from 'vitest';
import { ownPlaces } from './own-places.js';

const listed = (options: Partial<Parameters<typeof ownPlaces>[0]>): string[] =>
  ownPlaces({ temporal: 'temporal.example:17233', workerPorts: [], never: [], ...options }).map(
    ({ host, port }) => `${host}:${port}`,
  );

describe('the endpoints that no action reaches', () => {
  it("are Temporal's frontend, its HTTP API, and its Web UI where nobody has said where that is [F18]", () => {
    expect(listed({})).toEqual([
      'temporal.example:17233',
      'temporal.example:7233',
      'temporal.example:7243',
      'temporal.example:8233',
      'temporal.example:8080',
    ]);
  });

  it('are the Web UI that was named, not where it might have been [F18]', () => {
    const found = listed({ temporalUi: { host: 'ui.example', port: 443 } });
    expect(found).toContain('ui.example:443');
    expect(found).not.toContain('temporal.example:8080');
  });

  it("are the worker's own ports, and those that were named [F18]", () => {
    expect(listed({ workerPorts: [8081, 9090], never: [{ host: 'codec', port: 8234 }] })).toEqual(
      expect.arrayContaining(['127.0.0.1:8081', '127.0.0.1:9090', 'codec:8234']),
    );
  });

  it('cannot be found from an address that is none [F18]', () => {
    expect(() => listed({ temporal: 'temporal' })).toThrow('"temporal", is no HOST:PORT');
  });
});
