/** What a run is to do, put together from what was pinned and stored (T5.1, T6.3). */
import type { EngineIdentity } from '../../api/terraform/engine.js';
import type { Operation } from '../../api/terraform/operation.js';
import type { OperationResult } from '../../api/terraform/operation-result.js';
import type {
  ArtefactName,
  Digest,
  OperationId,
  OperationKind,
} from '../../api/terraform/operation-terms.js';
import { planDigest } from '../../api/terraform/plan-digest.js';
import type { PlanFacts } from '../../api/terraform/plan-facts.js';
import type { RunPin, RunSnapshot } from '../../api/terraform/run-pin.js';
import type { ArtefactRow, OperationRow } from '../../store/rows.js';
import type { StateStore } from '../../store/state-store.js';
import { Refusal } from '../http/refusal.js';

/** A run as it is pinned. */
export interface PinnedRun {
  pin: RunPin;
  workspace: string;
}

/** A plan that the engine has ended well, and that is stored. */
export interface MadePlan {
  digest: Digest;
  facts: PlanFacts;
  engine: EngineIdentity;
}

/** @throws StoreRefused `UnknownRun` */
export async function pinnedRun({ runs }: StateStore, run: string): Promise<PinnedRun> {
  const { pin, workspace } = await runs.pinOf(run);
  return { pin: pin as RunPin, workspace };
}

/** The snapshot of a run; undefined where it is not made yet. */
export const snapshotOf = async ({ runs }: StateStore, run: string): Promise<RunSnapshot | undefined> =>
  (await runs.once(run, 'snapshot')) as RunSnapshot | undefined;

/** An artefact of a run by its name. */
export async function artefactOf(
  { runs }: StateStore,
  run: string,
  name: string,
): Promise<ArtefactRow | undefined> {
  return (await runs.artefacts(run)).find((row) => row.name === name);
}

/** The newest plan of a run; undefined where there is none to be applied. */
export async function madePlan(store: StateStore, run: string): Promise<MadePlan | undefined> {
  const { pin } = await pinnedRun(store, run);
  const snapshot = await snapshotOf(store, run);
  const artefacts = new Map((await store.runs.artefacts(run)).map((row) => [row.name, row]));
  const result = planResult(await store.operations.ofRun(run));
  const [planFile, variables] = [artefacts.get('planFile'), artefacts.get('variables')];
  if (snapshot === undefined || planFile === undefined || variables === undefined) return undefined;
  if (result?.plan === undefined || result.engine === undefined) return undefined;
  const lockFile = artefacts.get('planLockFile')?.digest;
  const { archive, lineage, serial } = snapshot;
  const { targets, replace, isDestroy } = pin;
  const digest = planDigest({
    ...{ run, planFile: planFile.digest, archive, variables: variables.keyed },
    ...(lockFile !== undefined && { lockFile }),
    ...{ engine: result.engine, lineage, serial, targets, replace, isDestroy },
  });
  return { digest, facts: result.plan, engine: result.engine };
}

/** How the last plan ended. */
function planResult(operations: readonly OperationRow[]): OperationResult | undefined {
  const plans = operations.filter(({ kind }) => kind === 'plan');
  const record = plans.sort((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true })).at(-1)?.record;
  return record?.state === 'ended' ? (record.result as OperationResult) : undefined;
}

/**
 * What an operation is to do.
 *
 * @throws Refusal `UnknownOperation` where the run has not got that far
 */
export async function operationOf(
  store: StateStore,
  { id, run, kind }: { id: OperationId; run: string; kind: OperationKind },
): Promise<Operation> {
  const { pin, workspace } = await pinnedRun(store, run);
  const snapshot = await snapshotOf(store, run);
  if (snapshot === undefined)
    throw new Refusal('UnknownOperation', `run ${run} has no snapshot: nothing was fetched for it`);
  const { archive, variables, lockFile, lineage, serial } = snapshot;
  const inputs: Partial<Record<ArtefactName, Digest>> = {
    ...{ archive, variables },
    ...(lockFile !== undefined && { lockFile }),
  };
  const { engine, workdir, targets, replace } = pin;
  const common = { id, run, workspace, kind, workdir, lineage, serial };
  const plan: Operation['plan'] = { mode: modeOf(pin), targets, replace };
  if (kind === 'plan') return { ...common, engine, inputs, plan, timeoutMs: pin.planTimeoutMs };

  const made = await madePlan(store, run);
  if (pin.type !== 'plan_and_apply' || made === undefined)
    throw new Refusal('UnknownOperation', `run ${run} has no plan to apply`);
  const [planFile, planLockFile] = await Promise.all([
    artefactOf(store, run, 'planFile'),
    artefactOf(store, run, 'planLockFile'),
  ]);
  return {
    ...common,
    engine: { ...engine, digest: made.engine.digest },
    inputs: {
      ...inputs,
      planFile: planFile!.digest,
      ...(planLockFile !== undefined && { planLockFile: planLockFile.digest }),
    },
    plan,
    timeoutMs: pin.applyTimeoutMs,
  };
}

function modeOf({ type, isDestroy }: RunPin): Operation['plan']['mode'] {
  if (type === 'drift_check') return 'refreshOnly';
  return isDestroy ? 'destroy' : 'normal';
}
