/** Beacon: a small kind of entity, which shows what the bridge does for any. It watches a ConfigMap and shows its level. */
import { z } from 'zod';
import type { KindDescriptor } from '../../../api/core/kind-descriptor.js';
import type { Cacheable, Informer } from '../../../kube/informer.js';
import { entityRow } from '../../../crd-bridge/core/entity-row.js';
import type { Mark } from '../../../crd-bridge/core/entity-mirror.js';
import type { EntityKind, RecordedEpoch } from '../../../crd-bridge/core/entity.js';
import { wakeOn } from '../../../crd-bridge/core/row.js';
import type { Row } from '../../../crd-bridge/core/row.js';
import type { Services } from '../../../crd-bridge/core/services.js';
import type { BeaconSpec, BeaconUpdate } from './workflow.js';

export const BEACON_GROUP = 'test.drover.dev';
export const BEACON_API = `${BEACON_GROUP}/v1`;
const FINALIZER = `${BEACON_GROUP}/beacon`;
export const COLOUR = `${BEACON_GROUP}/colour`;
const FORCE = `${BEACON_GROUP}/force`;

export const beaconKind: KindDescriptor = {
  group: BEACON_GROUP,
  version: 'v1',
  kind: 'Beacon',
  plural: 'beacons',
  shortName: 'bcn',
  word: 'beacon',
  words: 'beacons',
  description: 'Shows the level of a ConfigMap in a colour.',
  scope: 'Namespaced',
  spec: z.object({ colour: z.string(), watches: z.string(), endsAt: z.string().optional() }),
  status: z.object({
    phase: z.string().optional(),
    colour: z.string().optional(),
    level: z.string().optional(),
    observedGeneration: z.int().optional(),
    requestedBy: z.string().optional(),
    turns: z.int().optional(),
    runId: z.string().optional(),
    end: z.string().optional(),
    epoch: z
      .object({
        epoch: z.int(),
        workflowId: z.string(),
        firstRunId: z.string(),
        namespaceId: z.string().optional(),
        clusterId: z.string().optional(),
      })
      .optional(),
    held: z.object({ reason: z.string(), message: z.string() }).optional(),
    marks: z.record(z.string(), z.object({ epoch: z.int(), sequence: z.int() })).optional(),
  }),
  columns: [],
  reviewed: false,
  access: [],
  selectable: [],
};

export interface BeaconStatus extends BeaconUpdate {
  epoch?: RecordedEpoch;
  held?: { reason: string; message: string };
  marks?: Record<string, Mark>;
}

export type Beacon = Cacheable & {
  metadata: Cacheable['metadata'] & { generation?: number; deletionTimestamp?: string };
  spec: BeaconSpec;
  status?: BeaconStatus;
};

export const levelsOf = (services: Pick<Services, 'cache'>): Informer =>
  services.cache({ apiVersion: 'v1', kind: 'ConfigMap', labelSelector: `${BEACON_GROUP}/level` });

/** The row of Beacon. */
export function beaconRow(services: Services): Row {
  const { cluster, writer } = services;
  const cache = services.cache<Beacon>({ apiVersion: BEACON_API, kind: 'Beacon' });
  const levels = levelsOf(services);
  const kind: EntityKind<Beacon> = {
    words: { one: 'beacon', several: 'beacons' },
    workflowType: 'beacon',
    taskQueue: `drover-${cluster}`,
    idPrefix: `beacon/${cluster}/`,
    finalizer: FINALIZER,
    view: ({ metadata, status }) => ({
      ...(status?.epoch !== undefined && { recorded: status.epoch }),
      over: status?.phase === 'Ended',
      deleting: metadata.deletionTimestamp !== undefined,
      held: metadata.finalizers?.includes(FINALIZER) ?? false,
      ...(status?.observedGeneration !== undefined && { observed: status.observedGeneration }),
      forceRelease: metadata.annotations?.[FORCE] === 'true',
    }),
    desired: ({ spec }) => ({ spec, requestedBy: 'somebody' }),
    prepareStart: () => Promise.resolve({ kind: 'start' }),
    withEpoch: ({ status }, epoch) => ({ ...status, epoch }),
    withEnd: ({ status }, end) =>
      status?.phase === 'Ended' ? undefined : { ...status, phase: 'Ended', end: end.kind },
    async held({ metadata: { namespace, name, uid } }, reason, message) {
      await writer.status(cache, { namespace, name, uid }, ({ status }) =>
        status?.held?.message === message ? undefined : { ...status, held: { reason, message } },
      );
    },
  };
  return entityRow(services, {
    cache,
    kind,
    projection: {
      merge: ({ status }, update) => ({ ...status, ...(update as BeaconUpdate) }),
      mark: ({ status }, speaker) => status?.marks?.[speaker],
      withMark: (status, speaker, mark) => ({
        ...status,
        marks: { ...(status as BeaconStatus).marks, [speaker]: mark },
      }),
      recordable: (key) => key === COLOUR,
    },
    looks: [
      wakeOn(levels, ({ object }) =>
        cache
          .list()
          .filter(
            ({ metadata, spec }) =>
              metadata.namespace === object.metadata.namespace && spec.watches === object.metadata.name,
          )
          .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`),
      ),
    ],
  });
}
