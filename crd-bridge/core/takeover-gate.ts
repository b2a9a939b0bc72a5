import type { KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import { describeSigns, findPreviousController } from '../../kube/previous-controller.js';
import type { BridgeConfig } from '../config.js';
import { createGate, openGate } from './gate.js';
import type { Gate } from './gate.js';
import type { Log } from './log.js';

/** Time between two looks while the previous controller runs: somebody waits for it to stop. */
const CLOSED_LOOK_MS = 3000;

/**
 * Closed while the controller that Drover takes over from runs (S5.14).
 *
 * Seam: a system that waits while another controller holds its Lease makes a gate of its own from `createGate`, and
 * hands it to its rows in place of this one.
 */
export function takeoverGate(config: BridgeConfig, kube: KubeClient, log: Log): Gate {
  const names = config['previous-controller'];
  if (names.length === 0) return openGate;
  const namespace = config['previous-controller-namespace'];
  const options = { names, ...(namespace !== undefined && { namespace }) };
  return createGate({
    async look() {
      try {
        const signs = await findPreviousController(kube, options);
        return signs.length === 0
          ? undefined
          : `the previous controller still runs: ${describeSigns(signs)}; scale it to zero, then executions begin here by themselves`;
      } catch (error) {
        if (!(error instanceof KubeError && error.code === 403)) throw error;
        throw new Error(
          `${error.message}; grant what deploy/rbac/bridge.yaml lists, or, where no other controller of these kinds was ever installed, set --previous-controller= (DROVER_PREVIOUS_CONTROLLER)`,
          { cause: error },
        );
      }
    },
    openMs: config['previous-controller-check'],
    closedMs: Math.min(CLOSED_LOOK_MS, config['previous-controller-check']),
    log,
  });
}
