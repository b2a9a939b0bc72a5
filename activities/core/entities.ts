import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Sealer, SealState } from '../../api/core/seal.js';
import type { EntityActivities, EntityIdentity, VouchResult } from '../../workflows/core/contract-entity.js';
import { sealedDesired, sealedEntity, sealedRetirement } from '../../workflows/core/sealed-entity.js';

/** The activities that workflows of entities of all kinds need. */
export function createEntityActivities({ verify }: Pick<Sealer, 'verify'>): EntityActivities {
  async function vouch(entity: EntityIdentity, said: Promise<SealState>): Promise<VouchResult> {
    const own = activityInfo().workflowExecution?.workflowId ?? '';
    const seals = [await verify('entity', sealedEntity(entity), entity.seal), await said];
    if (own !== entity.workflowId)
      return { kind: 'refused', message: `"${own}" is not the workflow that looks after ${entity.name}` };
    const unknown = seals.find((seal) => seal.kind === 'unknownKey');
    // The key may be newer than the worker's ring.
    if (unknown !== undefined)
      throw ApplicationFailure.retryable(`no key "${unknown.keyId}" here yet`, 'SealKeyUnknown');
    return seals.every((seal) => seal.kind === 'sealed')
      ? { kind: 'vouched' }
      : { kind: 'refused', message: 'the bridge has not said so: the seal is wrong' };
  }
  return {
    vouchDesired: ({ entity, desired }) =>
      vouch(entity, verify('desired', sealedDesired(entity, desired), desired.seal)),
    vouchRetirement: ({ entity, retire }) =>
      vouch(entity, verify('retire', sealedRetirement(entity, retire), retire.seal)),
  };
}
