import { activityInfo } from '@temporalio/activity';
import type { Cacheable, Informer } from '../../kube/informer.js';
import { ENTITY_SIGNALS } from '../../workflows/core/contract-entity.js';
import { sealedRetirement } from '../../workflows/core/sealed-entity.js';
import { createEntityController } from './entity-controller.js';
import { createEntityMirror } from './entity-mirror.js';
import type { EntityProjection } from './entity-mirror.js';
import type { EntityKind } from './entity.js';
import { orphansOf } from './orphans.js';
import { createRowQueue } from './row-queue.js';
import { keyOf } from './object-ref.js';
import { objectOf, wakeOn } from './row.js';
import type { Row, Wake } from './row.js';
import type { Services } from './services.js';

/** A kind of which each object is looked after as long as it lives. */
export interface EntityRowOptions<T extends Cacheable> extends Pick<Row, 'activities' | 'review' | 'sweeps'> {
  cache: Informer<T>;
  kind: EntityKind<T>;
  projection: EntityProjection<T>;
  /** What brings an object up beside its own changes. */
  wakes?: readonly Wake[];
  /** What its workflow waits for: for each key it is told to look. It costs neither the object a look nor the worker a slot. */
  looks?: readonly Wake[];
}

/** Makes a row of such a kind, with its controller and the search for orphans. */
export function entityRow<T extends Cacheable>(services: Services, options: EntityRowOptions<T>): Row {
  const { config, runs, sealer, workflows } = services;
  const { cache, kind, review, activities } = options;
  const controller = createEntityController({
    ...services,
    kind,
    cache,
    where: () => runs.where(),
    seal: sealer.seal,
    verify: sealer.verify,
    silenceMs: config.silence,
    onStart: () => {
      services.metrics.starts.inc();
    },
  });
  const looks = createRowQueue(
    `${cache.kind} looks`,
    {
      async reconcile(key) {
        const object = objectOf(cache, key);
        if (object !== undefined) await controller.look(object);
        return undefined;
      },
    },
    services,
  );
  const orphans = orphansOf(services, {
    cache,
    idPrefix: kind.idPrefix,
    workflowType: kind.workflowType,
    stop: (workflowId, { reason = '' }, { namespace, name, uid }) => {
      const entity = { cluster: services.cluster, kind: cache.kind, namespace, name, uid };
      const seal = sealer.seal('retire', sealedRetirement(entity, { reason }));
      return workflows.signal(workflowId, ENTITY_SIGNALS.retire, { reason, seal });
    },
  });
  const own = wakeOn(cache, ({ kind: change, object }) => {
    if (change === 'set') return [keyOf(object)];
    controller.forget(object.metadata.uid ?? '');
    return [];
  });
  const connectLooks: Wake = {
    connect() {
      for (const look of options.looks ?? []) look.connect(looks);
    },
  };
  return {
    cache: cache,
    work: {
      async reconcile(key) {
        const object = objectOf(cache, key);
        return object === undefined ? undefined : controller.reconcile(object);
      },
      wakes: [own, connectLooks, ...(options.wakes ?? [])],
      due: () => cache.list().map(keyOf),
      stop: () => looks.stop(),
    },
    mirror: {
      ...createEntityMirror({
        ...services,
        kind,
        cache,
        projection: options.projection,
        verify: sealer.verify,
        caller: () => activityInfo().workflowExecution,
      }),
      heard: ({ object }) => {
        controller.heard(object.uid);
      },
    },
    ...(activities !== undefined && { activities }),
    sweeps: [orphans, ...(options.sweeps ?? [])],
    ...(review !== undefined && { review }),
  };
}
