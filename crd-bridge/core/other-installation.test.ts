import { describe, expect, it } from 'vitest';
import { KubeError } from '../../kube/error.js';
import { otherInstallationLook } from './other-installation.js';

const deployment = (namespace: string, creationTimestamp: string, replicas?: number) => ({
  metadata: { namespace, name: 'drover-bridge', creationTimestamp },
  spec: { ...(replicas !== undefined && { replicas }) },
});
const look = (items: unknown[] | Error, namespace = 'here') =>
  otherInstallationLook(
    { namespace },
    {
      list: (() =>
        items instanceof Error ? Promise.reject(items) : Promise.resolve({ items, metadata: {} })) as never,
    },
  )();

describe('a further installation in a cluster', () => {
  it('begins nothing while the first one is there, which goes on', async () => {
    const both = [deployment('here', '2026-01-02T00:00:00Z'), deployment('there', '2026-01-01T00:00:00Z')];
    expect(await look(both)).toMatch(
      /Deployment there\/drover-bridge.*a cluster has one.*take this one away/,
    );
    expect(await look(both, 'there')).toBeUndefined();
    expect(await look([deployment('there', '2026-01-01T00:00:00Z')])).toContain('there/drover-bridge');
  });

  it('is none without replicas, and where nobody may look', async () => {
    expect(await look([])).toBeUndefined();
    expect(await look([deployment('there', '2026-01-01T00:00:00Z', 0)])).toBeUndefined();
    expect(await look(new KubeError('no', { code: 403, reason: 'Forbidden' }))).toBeUndefined();
    await expect(look(new KubeError('away', { code: 0, reason: 'Unreachable' }))).rejects.toThrow(
      /cannot tell whether another Drover.*away/,
    );
  });
});
