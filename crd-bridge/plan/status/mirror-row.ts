import { ApplicationFailure } from '@temporalio/common';
import { isObject } from '../../../api/core/json.js';
import type { MirrorEnvelope } from '../../../workflows/core/contract.js';
import type { RunIdentity } from '../../../workflows/plan/contract.js';
import { envelopeOf } from '../../../workflows/plan/contract-updates.js';
import type { FinishUpdate, MirrorUpdate } from '../../../workflows/plan/contract-updates.js';
import type { MirrorRow } from '../../core/mirror-endpoint.js';
import type { BridgeVouching } from '../start/vouching.js';
import type { PlanMirror } from './mirror.js';

const KIND = 'DRPlanExecution';
const STAGE = /^s(\d+)$/;

/** How the bridge hears from runs of plans. */
export function createMirrorRow(options: {
  mirror: PlanMirror;
  vouching: BridgeVouching;
}): Omit<MirrorRow, 'heard'> {
  const { mirror, vouching } = options;
  return {
    kind: KIND,
    former(said) {
      const { run, stages, from, sequence } = said as Partial<MirrorUpdate>;
      if (!isObject(run) || !Array.isArray(stages)) return undefined;
      return envelopeOf(run, from ?? 'run', sequence ?? 0, said);
    },
    async vouch(said) {
      const { run } = contentOf(said);
      const { namespace, name, uid } = said.object;
      if (run.uid !== uid || run.name !== name || run.namespace !== namespace)
        throw ApplicationFailure.nonRetryable(`an update of ${name} that another run has made`, 'NotSealed');
      const from = stageOf(said.speaker);
      await vouching.run(run, from === 'run' ? undefined : from);
    },
    mirror: (said) => mirror.mirror(updateOf(said)),
    async finish(said) {
      if (stageOf(said.speaker) !== 'run')
        throw ApplicationFailure.nonRetryable(
          `an end of ${said.object.name} by one of its stages`,
          'NotSealed',
        );
      await mirror.finish(endOf(said));
    },
  };
}

/** The update in an envelope, as it is laid into status. */
export const updateOf = (said: MirrorEnvelope): MirrorUpdate => ({
  ...contentOf<MirrorUpdate>(said),
  from: stageOf(said.speaker),
  sequence: said.sequence,
});

/** The end in an envelope. */
export const endOf = (said: MirrorEnvelope): FinishUpdate => ({
  ...contentOf<FinishUpdate>(said),
  sequence: said.sequence,
});

/** @throws ApplicationFailure for what no run of a plan says */
function contentOf<U extends { run: RunIdentity }>({ update }: MirrorEnvelope): U {
  if (isObject(update) && isObject(update.run)) return update as unknown as U;
  throw ApplicationFailure.nonRetryable('an update without the identity of its run', 'NotSealed');
}

function stageOf(speaker: string): 'run' | number {
  const stage = STAGE.exec(speaker)?.[1];
  return stage === undefined ? 'run' : Number(stage);
}
