import { expect, it } from 'vitest';
import type { RunDescription } from '../../../client/runs/runs.js';
import { createReplica } from '../testing/replicas.js';
import { createWorld } from '../testing/world.js';
import { memoOf, vouchedMemo } from './run-memo.js';

it('[F17] what a run is to execute is believed of those alone that a bridge has begun', async () => {
  const { sealer } = createReplica(createWorld()).deps;
  const snapshot = { name: 's', namespace: 'ns', digest: 'd', parts: 1 };
  const memo = memoOf({ namespace: 'ns', name: 'e', uid: 'u', snapshot } as never, 'key', sealer);
  const found = (more: object) => ({ memo: { ...memo, ...more } }) as RunDescription;
  expect(await vouchedMemo(found({}), 'u', sealer)).toEqual(memo);
  expect(await vouchedMemo(undefined, 'u', sealer)).toBeUndefined();
  const forged = [
    { snapshot: { ...snapshot, digest: 'older' } },
    { seal: undefined },
    { sealKey: 'x' },
    { uid: 'v' },
  ];
  for (const change of forged) expect(await vouchedMemo(found(change), 'u', sealer)).toBeUndefined();
  expect(await vouchedMemo(found({}), 'v', sealer)).toBeUndefined();
});
