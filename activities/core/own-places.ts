import { readPlace, THIS_MACHINE } from './places.js';
import type { Place } from './places.js';

type Address = Pick<Place, 'host' | 'port'>;

/** What the worker knows of Drover's own endpoints. */
export interface OwnEndpoints {
  /** `HOST:PORT` of Temporal's frontend. */
  temporal: string;
  /** Temporal's Web UI, if its address was configured. */
  temporalUi?: Address | undefined;
  /** Ports that the worker itself listens on. */
  workerPorts: readonly number[];
  /** Further ones that were configured. */
  never: readonly Address[];
}

/** A frontend serves gRPC and its HTTP API. */
const FRONTEND_PORTS = [7233, 7243];
/** Where a Web UI listens that nobody has named: that of the development server, and that of its image. */
const UI_PORTS = [8233, 8080];

/**
 * The endpoints that no action may reach. Whoever reaches Temporal can end and repeat runs, and its Web UI passes on
 * whatever it is sent.
 *
 * @throws Error when `temporal` is no `HOST:PORT`
 */
export function ownPlaces({ temporal, temporalUi, workerPorts, never }: OwnEndpoints): Place[] {
  const frontend = readPlace(temporal);
  if (frontend === undefined) {
    throw new Error(`the address of Temporal, ${JSON.stringify(temporal)}, is no HOST:PORT`);
  }
  const { host, port } = frontend;
  const uis = temporalUi === undefined ? UI_PORTS.map((at) => ({ host, port: at })) : [temporalUi];
  return [
    ...[port, ...FRONTEND_PORTS].map((at) => ({ host, port: at, what: "Temporal's frontend" })),
    ...uis.map((ui) => ({ ...ui, what: "Temporal's Web UI" })),
    ...workerPorts.map((at) => ({ host: THIS_MACHINE, port: at, what: 'a port of the worker' })),
    ...never.map((place) => ({ ...place, what: 'an endpoint of Drover (DROVER_EGRESS_NEVER)' })),
  ];
}
