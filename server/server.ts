/** All routes of the server on one listener. */
import type { Server } from 'node:http';
import { callerOf } from './auth/callers.js';
import type { ServerContext } from './context.js';
import { createRouteServer } from './http/serve.js';
import type { ServerMetrics } from './metrics.js';
import { operationRoutes } from './operations/routes.js';
import { runRoutes } from './runs/routes.js';
import { stateRoutes } from './state/routes.js';

/** A server that does not listen yet. */
export function createDroverServer(
  context: ServerContext,
  { metrics, tls }: { metrics: ServerMetrics; tls?: { cert: string; key: string } },
): Server {
  return createRouteServer({
    routes: [...operationRoutes(context), ...runRoutes(context), ...stateRoutes(context)],
    callerOf: (request) => callerOf(request, context.ring),
    metrics,
    log: context.log,
    ...(tls !== undefined && { tls }),
  });
}
