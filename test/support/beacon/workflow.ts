import { ActivityCancellationType, proxyActivities, workflowInfo } from '@temporalio/workflow';
import { openEntity } from '../../../workflows/core/entity.js';
import type { EntityEnd, EntityInput } from '../../../workflows/core/contract-entity.js';

export interface BeaconSpec {
  colour: string;
  /** ConfigMap whose level it shows. */
  watches: string;
  /** Level at which it ends by itself. */
  endsAt?: string | undefined;
}

export interface BeaconUpdate {
  phase?: 'Shining' | 'Retired' | 'Ended';
  colour?: string;
  level?: string;
  observedGeneration?: number;
  requestedBy?: string;
  /** How often it has continued as new. */
  turns?: number;
  runId?: string;
}

export interface BeaconActivities {
  readLevel: (at: { namespace: string; name: string }) => Promise<string>;
}

const { readLevel } = proxyActivities<BeaconActivities>({
  startToCloseTimeout: '10s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});
/** So few that a test sees it continue as new. */
const MAX_EVENTS = 60;

export async function beacon(input: EntityInput<BeaconSpec, { turns: number }>): Promise<EntityEnd> {
  const turns = input.carried?.state.turns ?? 0;
  let shown: BeaconUpdate = {};
  const entity = await openEntity<BeaconSpec, { turns: number }, BeaconUpdate>(input, {
    mirror: { debounceMs: 20, intervalMs: 50 },
    collect: () => shown,
    maxEvents: MAX_EVENTS,
  });
  let recorded = turns === 0 ? 0 : input.desired.generation;
  for (;;) {
    const { spec, generation, requestedBy } = entity.desired();
    const { namespace } = entity.identity;
    const level = await readLevel({ namespace, name: spec.watches });
    shown = {
      phase: 'Shining',
      colour: spec.colour,
      level,
      observedGeneration: generation,
      ...(requestedBy !== undefined && { requestedBy }),
      turns,
      runId: workflowInfo().runId,
    };
    if (recorded !== generation) {
      await entity.record({
        annotations: { 'test.drover.dev/colour': spec.colour, 'not.allowed/here': 'x' },
        status: shown,
      });
      recorded = generation;
    }
    entity.touch();
    if (entity.retiring() !== undefined) {
      await entity.record({ status: { ...shown, phase: 'Retired' } });
      await entity.release();
      return { kind: 'retired' };
    }
    if (level === spec.endsAt) {
      await entity.record({ status: { ...shown, phase: 'Ended' } });
      return { kind: 'ended', reason: 'Reached', message: level };
    }
    if (entity.isLong()) await entity.carryOn({ turns: turns + 1 });
    await entity.news(60_000);
  }
}
