import { inject } from 'vitest';
import { up } from '../../local/index.js';

/** Starts again what has died: the same call an operator makes. */
export async function heal(bridgeEnvironment: Record<string, string> = {}): Promise<void> {
  await up({
    dataDir: inject('dataDir'),
    ephemeral: true,
    crdDir: 'deploy/crds',
    bridge: { command: process.execPath, args: ['dist/crd-bridge/main.js'], env: bridgeEnvironment },
    worker: { command: process.execPath, args: ['dist/worker/main.js'] },
    progress: () => undefined,
  });
}
