/** Seals for tests: those of the stack, and what a bridge would seal of a task. */
import { createSealer, parseSealKeys } from '../../api/core/seal.js';
import type { Sealer } from '../../api/core/seal.js';
import { dataPaths } from '../../local/paths.js';
import { readEntries } from '../../runtime/entries-file.js';
import type { RunIdentity } from '../../workflows/plan/contract.js';
import type { ActionTask } from '../../workflows/plan/contract-tasks.js';
import { sealedBody, sealedRun, sealedStep } from '../../workflows/plan/sealed.js';
import { servers } from './servers.js';

export { ownSealer } from '../../activities/core/testing/own-sealer.js';

/** File of the ring that bridge and worker of the stack hold. */
export const stackRingFile = (): string => dataPaths(servers.dataDir).sealRing;

/** Seals as bridge and worker of the stack do. */
export async function stackSealer(): Promise<Sealer> {
  const keys = parseSealKeys(await readEntries(stackRingFile()));
  return createSealer({ current: () => keys, again: () => Promise.resolve(keys) });
}

/** A run as the bridge seals it for a workflow. */
export function sealRun(sealer: Sealer, identity: RunIdentity, workflowId: string): RunIdentity {
  const run = { ...identity, workflowId };
  return { ...run, seal: sealer.seal('run', sealedRun(run)) };
}

/** A task of a run as the bridge seals it for a workflow: one that is carried out, or a step of a revert. */
export function sealTask(sealer: Sealer, task: ActionTask, workflowId: string): ActionTask {
  const isUndo = task.direction === 'undo';
  const run = sealRun(sealer, { ...task.run, ...(isUndo && { operation: 'Revert' }) }, workflowId);
  const { at, direction, body, forward, outputs, clusterId } = task;
  const { uid } = run;
  return {
    ...task,
    run,
    seals: {
      ...(body !== undefined && {
        body: sealer.seal('body', sealedBody({ uid, at, direction, body })),
      }),
      ...(run.operation === 'Revert' && {
        step: sealer.seal('undo', sealedStep({ uid, at, direction, forward, outputs, clusterId })),
      }),
    },
  };
}
