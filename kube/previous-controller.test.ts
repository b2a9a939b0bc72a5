import { describe, expect, it } from 'vitest';
import type { KubeClient } from './client.js';
import { findPreviousController } from './previous-controller.js';

const NOW = Date.parse('2026-03-01T02:00:00Z');
const ago = (seconds: number): string => new Date(NOW - seconds * 1000).toISOString();

/**
 * Whether a Lease counts as held: its holder renewed it this long ago by its own clock, and by that of the API server.
 */
async function isHeld(lease: { renewed?: number; written?: number; holder?: string }): Promise<boolean> {
  const { renewed, written, holder = 'controller' } = lease;
  const item = {
    metadata: {
      name: 'lease',
      namespace: 'dr-system',
      ...(written !== undefined && { managedFields: [{ manager: 'controller', time: ago(written) }] }),
    },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: 15,
      ...(renewed !== undefined && { renewTime: ago(renewed) }),
    },
  };
  const kube = {
    now: () => NOW,
    list: ({ kind }: { kind: string }) =>
      Promise.resolve({ metadata: { resourceVersion: '1' }, items: kind === 'Lease' ? [item] : [] }),
  } as unknown as KubeClient;
  return (await findPreviousController(kube, { names: [] })).length === 1;
}

describe("the Lease of the previous controller's leader", () => {
  it.each([
    ['renewed now', { renewed: 2, written: 2 }, true],
    ['renewed now by a holder whose clock is five minutes behind', { renewed: 302, written: 2 }, true],
    ['renewed now by a holder whose clock is ahead', { renewed: -298, written: 2 }, true],
    ['renewed within twice its time', { renewed: 29, written: 29 }, true],
    ['not renewed for longer', { renewed: 31, written: 31 }, false],
    ['renewed, by an API server that does not say when it was written', { renewed: 2 }, true],
    ['given up', { renewed: 2, written: 2, holder: '' }, false],
    ['held, and never renewed', {}, false],
  ])('%s', async (_, lease, held) => {
    expect(await isHeld(lease)).toBe(held);
  });
});
