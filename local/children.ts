import { join } from 'node:path';
import { answersOk } from './answers-ok.js';
import { ownEndpoints } from './off-limits.js';
import type { ChildCommand } from './options.js';
import type { DataPaths } from './paths.js';
import type { ProcessSpec } from './processes.js';
import type { PortName } from './state.js';
import { systemNamespace } from './system-namespace.js';

/** What the bridge and the worker are told about their surroundings. */
export interface ChildContext {
  kubeconfig: string;
  temporal: string;
  namespace: string;
  /** True on the embedded control plane. */
  embedded: boolean;
  /** True when the bridge is to serve admission. */
  webhook: boolean;
  paths: DataPaths;
  ports: Record<PortName, number>;
}

/** How to start the bridge or the worker; ready when its `/readyz` answers 200. */
export function childSpec(
  name: 'bridge' | 'worker',
  child: ChildCommand,
  context: ChildContext,
): ProcessSpec {
  const healthPort = context.ports[`${name}Health`];
  return {
    name,
    command: child.command,
    args: child.args,
    env: {
      KUBECONFIG: undefined,
      DROVER_KUBECONFIG: context.kubeconfig,
      TEMPORAL_ADDRESS: context.temporal,
      TEMPORAL_NAMESPACE: context.namespace,
      DROVER_METRICS_PORT: String(context.ports[`${name}Metrics`]),
      DROVER_HEALTH_PORT: String(healthPort),
      DROVER_SEAL_RING: context.paths.sealRing,
      // Only here, where everything is the user's own machine, may plans act as the controller and reach loopback.
      DROVER_CONTROLLER_IDENTITY: context.embedded ? 'true' : undefined,
      DROVER_EGRESS_ALLOW_LOOPBACK: context.embedded ? 'true' : undefined,
      ...(name === 'worker' && egressEnvironment(context)),
      ...(name === 'bridge' && context.webhook && webhookEnvironment(context.ports.bridgeWebhook)),
      ...child.env,
    },
    log: join(context.paths.logs, `${name}.log`),
    ready: () => answersOk(`http://127.0.0.1:${healthPort}/readyz`),
    readyTimeoutMs: 60_000,
  };
}

/** No action reaches what listens here. */
function egressEnvironment(context: ChildContext): Record<string, string> {
  const { never, temporalUi } = ownEndpoints(context);
  return {
    DROVER_EGRESS_NEVER: [process.env.DROVER_EGRESS_NEVER ?? '', ...never].join(','),
    ...(temporalUi !== undefined && { DROVER_TEMPORAL_UI: temporalUi }),
  };
}

/** The API server of the embedded control plane reaches the bridge without a Service. */
function webhookEnvironment(port: number): Record<string, string> {
  return {
    DROVER_NAMESPACE: systemNamespace,
    DROVER_WEBHOOK_PORT: String(port),
    DROVER_WEBHOOK_URL: `https://127.0.0.1:${port}`,
  };
}
