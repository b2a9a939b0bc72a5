/**
 * Puts the objects of an archive into a cluster, in an order in which each finds what it needs:
 *
 * | step | cut after it | mended by restoring again with `--merge` |
 * |---|---|---|
 * | snapshots | snapshots that nobody names: removed an hour later | they are there, or are made again |
 * | kinds without a namespace, workflows, plans | plans without their history | a plan without history is given it |
 * | executions, without status | copies that never start: a bridge ends them as `RestoredCopy` | a copy without a status is given it |
 * | status of executions | some copies are as above | likewise |
 * | prior state | reverts of some copies say what is missing | what is missing is made |
 * | history of plans | plans that may be executed again too early | as above |
 */
import { ANNOTATIONS, FIELD_MANAGER } from '../../../../api/core/group.js';
import type { KindDescriptor } from '../../../../api/core/kind-descriptor.js';
import type { DRPlan, DRPlanExecution } from '../../../../api/plan/types.js';
import { keyOf } from '../../../../kube/client.js';
import type { KubeClient } from '../../../../kube/client.js';
import { isAlreadyExists, isConflict } from '../../../../kube/error.js';
import { describeKey } from '../../../../kube/object.js';
import type { KubeObject } from '../../../../kube/object.js';
import { CliError } from '../../core/cli-error.js';
import type { Archive } from './archive.js';
import { ENTRIES } from './manifest.js';
import {
  copyOf,
  lacksStatus,
  newOwnersOf,
  planStatusOf,
  recreatable,
  stampOf,
  statusOf,
  withNewUids,
} from './restorable.js';

/** How many objects of a sort were made, and how many were there already. */
export interface Restored {
  sort: string;
  made: number;
  kept: number;
  /** Objects whose owner is neither in the archive nor in the cluster. */
  left: number;
}

/** What is restored, and with what. */
export interface RestoreDeps {
  kube: KubeClient;
  archive: Archive;
  /** Of the archive; those without a namespace first. */
  kinds: readonly KindDescriptor[];
  now: () => Date;
  /** Called as objects are restored. */
  onProgress: (text: () => string) => void;
}

/** Executions on their way: what their uids have become, and which still need a status. */
interface Copies {
  uids: Map<string, string>;
  bare: Set<string>;
}

/**
 * Restores all objects. What has the name of one that is there is left as it is.
 *
 * @throws CliError that names the object at which it has stopped
 */
export async function restoreObjects(deps: RestoreDeps): Promise<Restored[]> {
  const { kinds, archive } = deps;
  const done = [await restoreSnapshots(deps)];
  for (const kind of kinds) {
    if (kind.kind === 'DRPlanExecution' || archive.count(kind.plural) === 0) continue;
    done.push(await restoreEach(deps, kind.plural, (object) => recreatable(object)));
  }
  const copies: Copies = { uids: new Map(), bare: new Set() };
  done.push(await restoreExecutions(deps, copies));
  await restoreStatuses(deps, copies);
  done.push(await restorePriorState(deps, copies));
  await restorePlanStatuses(deps, copies);
  return done.filter(({ made, kept, left }) => made + kept + left > 0);
}

/** Marked as used now: executions that name them come only later. */
function restoreSnapshots(deps: RestoreDeps): Promise<Restored> {
  const used = deps.now().toISOString();
  return restoreEach(deps, ENTRIES.snapshots, (object) => {
    const { annotations } = object.metadata;
    const metadata = { ...object.metadata, annotations: { ...annotations, [ANNOTATIONS.used]: used } };
    return recreatable({ ...object, metadata });
  });
}

async function restoreEach(
  deps: RestoreDeps,
  sort: string,
  make: (object: KubeObject) => KubeObject | undefined,
): Promise<Restored> {
  const tally: Restored = { sort, made: 0, kept: 0, left: 0 };
  const total = deps.archive.count(sort);
  for await (const object of deps.archive.objects(sort)) {
    const wanted = make(object);
    if (wanted === undefined) tally.left += 1;
    else if ((await create(deps, wanted)) === undefined) tally.kept += 1;
    else tally.made += 1;
    deps.onProgress(() => `${sort}: ${tally.made + tally.kept + tally.left} of ${total}`);
  }
  return tally;
}

/** @returns the object as it was made; undefined when one of that name is there */
async function create<T extends KubeObject>({ kube }: RestoreDeps, object: T): Promise<T | undefined> {
  try {
    // A definition that is older than the backup would drop fields without a word.
    return await kube.create<T>(object, { fieldManager: FIELD_MANAGER, fieldValidation: 'Strict' });
  } catch (error) {
    if (isAlreadyExists(error)) return undefined;
    throw stopped(object, error);
  }
}

function stopped(object: KubeObject, error: unknown): CliError {
  const { kind = '' } = object;
  const why = error instanceof Error ? error.message : String(error);
  return new CliError(`the restore has stopped at ${describeKey({ ...object.metadata, kind })}: ${why}`, {
    hints: [
      'mend the cause, then run the same command again with --merge: what is restored already stays as it is',
      ...(/unknown field/.test(why)
        ? ['the definitions are older than the backup: kubectl apply --server-side -f deploy/crds']
        : []),
    ],
    cause: error,
  });
}

const EXECUTIONS = 'drplanexecutions';
const PLANS = 'drplans';

/** Those that belong to another one come after it: they are owned by it, under the uid that it has now. */
async function restoreExecutions(deps: RestoreDeps, copies: Copies): Promise<Restored> {
  const tally: Restored = { sort: EXECUTIONS, made: 0, kept: 0, left: deps.archive.count(EXECUTIONS) };
  const total = tally.left;
  for (let before = Number.POSITIVE_INFINITY; tally.left > 0 && tally.left < before;) {
    before = tally.left;
    for await (const execution of deps.archive.objects<DRPlanExecution>(EXECUTIONS)) {
      if (copies.uids.has(execution.metadata.uid ?? '')) continue;
      const copy = copyOf(execution, copies.uids);
      if (copy === undefined) continue;
      const made = await create(deps, copy);
      if (made === undefined) tally.kept += 1;
      else tally.made += 1;
      tally.left -= 1;
      await noteCopy(deps, copies, { execution, made });
      deps.onProgress(() => `${EXECUTIONS}: ${total - tally.left} of ${total}`);
    }
  }
  return tally;
}

async function noteCopy(
  { kube }: RestoreDeps,
  { uids, bare }: Copies,
  { execution, made }: { execution: DRPlanExecution; made: KubeObject | undefined },
): Promise<void> {
  const { uid = '' } = execution.metadata;
  const key = keyOf(execution as unknown as KubeObject);
  const found = made ?? (await kube.get<KubeObject>(key));
  const there = found as unknown as DRPlanExecution | undefined;
  // Another execution of that name, made since, has nothing to do with this one; but it is not asked for again.
  const isSame =
    there !== undefined &&
    (there.metadata.uid === uid || stampOf(there) === stampOf(execution) || isCopy(there, execution));
  uids.set(uid, isSame ? (there.metadata.uid ?? uid) : uid);
  if (isSame && there.metadata.uid !== uid && statusOf(execution) !== undefined && lacksStatus(there.status))
    bare.add(uid);
}

/** Whether an execution without a status of its own is the copy that an earlier restore has made of this one. */
const isCopy = ({ metadata }: DRPlanExecution, execution: DRPlanExecution): boolean =>
  metadata.annotations?.[ANNOTATIONS.stamp] === stampOf(execution);

async function restoreStatuses(deps: RestoreDeps, { uids, bare }: Copies): Promise<void> {
  let written = 0;
  if (bare.size === 0) return;
  for await (const execution of deps.archive.objects<DRPlanExecution>(EXECUTIONS)) {
    const { uid = '' } = execution.metadata;
    const status = statusOf(execution);
    if (!bare.has(uid) || status === undefined) continue;
    const object = execution as unknown as KubeObject;
    const operations = [
      { op: 'replace', path: '/metadata/uid', value: uids.get(uid) },
      { op: 'add', path: '/status', value: withNewUids(status, uids) },
    ];
    try {
      await deps.kube.patch(keyOf(object), operations, {
        kind: 'json',
        subresource: 'status',
        fieldManager: FIELD_MANAGER,
      });
    } catch (error) {
      throw stopped(object, error);
    }
    written += 1;
    deps.onProgress(() => `status of ${EXECUTIONS}: ${written} of ${bare.size}`);
  }
}

/** Owned by the copy of the execution, so that it goes when that is deleted. */
function restorePriorState(deps: RestoreDeps, { uids }: Copies): Promise<Restored> {
  return restoreEach(deps, ENTRIES.priorState, (secret) => {
    const owners = newOwnersOf(secret.metadata, uids);
    // Without its owner nobody would ever need it, or take it away.
    return owners === undefined || owners.length === 0 ? undefined : recreatable(secret, owners);
  });
}

async function restorePlanStatuses(deps: RestoreDeps, { uids }: Copies): Promise<void> {
  const { takenAt } = deps.archive.manifest;
  for await (const plan of deps.archive.objects<DRPlan>(PLANS)) {
    const { status } = plan;
    if (status === undefined || isFresh(status)) continue;
    const key = keyOf(plan as unknown as KubeObject);
    for (;;) {
      const current = await deps.kube.get<DRPlan>(key);
      if (current === undefined || !isFresh(current.status)) break;
      const operations = [
        { op: 'replace', path: '/metadata/resourceVersion', value: current.metadata.resourceVersion },
        { op: 'add', path: '/status', value: planStatusOf(current.status, status, { uids, takenAt }) },
      ];
      try {
        await deps.kube.patch(key, operations, {
          kind: 'json',
          subresource: 'status',
          fieldManager: FIELD_MANAGER,
        });
        break;
      } catch (error) {
        // A bridge looks at the plan too.
        if (!isConflict(error)) throw stopped(plan as unknown as KubeObject, error);
      }
    }
  }
}

/** Whether a plan has no past yet. */
const isFresh = (status: DRPlan['status']): boolean =>
  (status?.executionHistory ?? []).length === 0 && status?.executedBy === undefined;
