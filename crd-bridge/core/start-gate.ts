import type { KindDescriptor } from '../../api/core/kind-descriptor.js';
import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import { describeSigns, findPreviousController } from '../../kube/previous-controller.js';
import type { BridgeConfig } from '../config.js';
import { definitionsLook } from './definitions-look.js';
import { createGate } from './gate.js';
import { otherInstallationLook } from './other-installation.js';
import type { Gate } from './gate.js';
import type { Log } from './log.js';

/** Time between two looks while the gate is closed: somebody waits for it to open. */
const CLOSED_LOOK_MS = 3000;

/**
 * Closed while the controller that Drover takes over from runs (S5.14), while an earlier installation of Drover is in the
 * cluster, and while the cluster's definitions lack what the bridge writes.
 *
 * Seam: a system that waits while another controller holds its Lease makes a gate of its own from `createGate`, and
 * hands it to its rows in place of this one.
 */
export function startGate(parts: {
  config: BridgeConfig;
  kube: KubeClient;
  kinds: readonly KindDescriptor[];
  log: Log;
}): Gate {
  const { config, kube, log } = parts;
  const looks = [takeoverLook(config, kube), otherInstallationLook(config, kube), definitionsLook(parts)];
  return createGate({
    async look() {
      for (const look of looks) {
        const found = await look();
        if (found !== undefined) return found;
      }
      return undefined;
    },
    openMs: config['previous-controller-check'],
    closedMs: Math.min(CLOSED_LOOK_MS, config['previous-controller-check']),
    log,
  });
}

function takeoverLook(config: BridgeConfig, kube: KubeClient): () => Promise<string | undefined> {
  const names = config['previous-controller'];
  if (names.length === 0) return () => Promise.resolve(undefined);
  const namespace = config['previous-controller-namespace'];
  const options = { names, ...(namespace !== undefined && { namespace }) };
  return async () => {
    try {
      const signs = await findPreviousController(kube, options);
      return signs.length === 0
        ? undefined
        : `the previous controller still runs: ${describeSigns(signs)}; scale it to zero, then executions begin here by themselves`;
    } catch (error) {
      const advice =
        error instanceof KubeError && error.code === 403
          ? '; grant what deploy/rbac/bridge.yaml lists, or, where no other controller of these kinds was ever installed, set --previous-controller= (DROVER_PREVIOUS_CONTROLLER)'
          : '';
      throw new Error(
        `cannot tell whether another controller runs: ${error instanceof Error ? error.message : String(error)}${advice}`,
        { cause: error },
      );
    }
  };
}
