import { createHash } from 'node:crypto';
import type { ActionInput, UndoStageInput, UndoStep } from '../../../api/plan/snapshot/run.js';
import type { Sealer } from '../../../api/core/seal.js';
import { viewsOfStep } from '../../../api/plan/undo/shared-views.js';
import { recordInCluster } from '../../../api/plan/undo/trace.js';
import type { RunIdentity, RunInput } from '../../../workflows/plan/contract.js';
import { digestText } from '../../../workflows/plan/run-digest.js';
import { sealedBody, sealedRun, sealedStep } from '../../../workflows/plan/sealed.js';

/**
 * The input of a run with the bridge's seals (docs/security.md#seals): one for the run's identity and all that it is
 * given to do, one for each body that is sent along, and one for each step of a revert.
 *
 * @param workflowId of the run: the seal counts in no other
 */
export function sealInput(input: RunInput, workflowId: string, sealer: Pick<Sealer, 'seal'>): RunInput {
  const { uid } = input.run;
  const sealed: RunInput = {
    ...input,
    stages: input.stages.map((stage) => ({
      ...stage,
      workflows: stage.workflows.map((workflow, w) => ({
        ...workflow,
        actions: workflow.actions.map((action, a) => {
          const at = { stage: stage.index, workflow: w, action: a };
          return withBodySeal(action, { uid, at, direction: 'forward' }, sealer);
        }),
      })),
    })),
    undo: input.undo.map((stage) => ({
      ...stage,
      steps: stage.steps.map((step) => sealStep(stage, step, uid, sealer)),
    })),
  };
  const run: RunIdentity = {
    ...input.run,
    workflowId,
    inputDigest: createHash('sha256').update(digestText(sealed)).digest('hex'),
    ...(input.run.operation === 'Execute' && input.onFailure === 'Rollback' && { rollsBack: true }),
  };
  return { ...sealed, run: { ...run, seal: sealer.seal('run', sealedRun(run)) } };
}

/** Bytes of a seal with the name of its field. */
const SEAL_BYTES = 80;

/** What the seals of an input will take in it, in bytes: at least that much, so that what fits without fits with them. */
export function sealBytes({ stages, undo }: Pick<RunInput, 'stages' | 'undo'>): number {
  const actions = stages.flatMap((stage) => stage.workflows.flatMap((workflow) => workflow.actions));
  const steps = undo.flatMap((stage) => stage.steps);
  const bodies = [...actions, ...steps.map((step) => step.input)].filter(({ body }) => body !== undefined);
  const parts = steps.flatMap(({ forward }) => (forward.clusterStatuses ?? []).map(({ cluster }) => cluster));
  const names = parts.reduce((sum, cluster) => sum + Buffer.byteLength(cluster), 0);
  return (bodies.length + steps.length + parts.length) * SEAL_BYTES + names;
}

function withBodySeal(
  action: ActionInput,
  place: { uid: string; at: UndoStep['at']; direction: 'forward' | 'undo' },
  sealer: Pick<Sealer, 'seal'>,
): ActionInput {
  const { body } = action;
  if (body === undefined) return action;
  return { ...action, bodySeal: sealer.seal('body', sealedBody({ ...place, body })) };
}

function sealStep(
  stage: Pick<UndoStageInput, 'views'>,
  step: UndoStep,
  uid: string,
  sealer: Pick<Sealer, 'seal'>,
): UndoStep {
  const { at, forward } = step;
  const outputs = viewsOfStep(stage, step);
  const direction = step.hook === true ? 'forward' : 'undo';
  const seal = (part: Partial<Parameters<typeof sealedStep>[0]>): string =>
    sealer.seal('undo', sealedStep({ uid, at, direction, outputs, ...part }));
  const records = direction === 'undo' ? (forward.clusterStatuses ?? []) : [];
  return {
    ...step,
    input: withBodySeal(step.input, { uid, at, direction }, sealer),
    // A hook is carried out, whatever an earlier run has recorded of it.
    seal: seal(direction === 'undo' ? { forward } : {}),
    ...(records.length > 0 && {
      partSeals: Object.fromEntries(
        records.map((record) => [
          record.cluster,
          seal({
            at: { ...at, cluster: record.cluster },
            forward: recordInCluster(forward, record),
            clusterId: record.clusterID,
          }),
        ]),
      ),
    }),
  };
}
