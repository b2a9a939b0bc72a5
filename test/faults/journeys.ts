/** Runs one plan through its life while faults strike, and checks what is left. */
import { hasEffects } from '../../api/plan/undo/effects.js';
import { ANNOTATIONS } from '../../api/core/group.js';
import { runWorkflowId } from '../../api/plan/naming.js';
import { isTerminalExecution } from '../../api/core/phase.js';
import type { ActionStatus, DRPlan, DRPlanExecution, DRPlanExecutionSpec } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import type { Endpoint } from './endpoint.js';
import { eventually, insist, insistOnCreating } from './insist.js';
import { actFromOutside } from './outside.js';
import type { OutsideAct, OutsideTargets } from './outside.js';
import type { Objects, WatchedKind } from './objects.js';
import { checkEffects, checkPlan, checkRun, DR } from './oracle.js';
import type { Report } from './oracle.js';
import { definitionOf } from './plans.js';
import type { JourneyKind } from './plans.js';
import type { Plant } from './plant.js';
import { checkSecrecy, FOREIGN_NAMESPACE } from './tenant.js';

/** What status says of an action, by its name. */
const actionIn = ({ status }: DRPlanExecution, action: string): ActionStatus | undefined =>
  (status?.stageStatuses ?? [])
    .flatMap(({ workflowExecutions }) => workflowExecutions ?? [])
    .flatMap(({ actionStatuses }) => actionStatuses ?? [])
    .find(({ name }) => name === action);

export interface Surroundings {
  plant: Plant;
  endpoint: Endpoint;
  objects: Objects;
  outside: OutsideTargets;
}

const NAMESPACE = 'faults';
/** However many faults strike a run, it ends in so much time. */
const RUN_MS = 600_000;
/** So long a run waits to be acted upon from outside after its first effect. */
const LAST_CALL_MS = 8_000;
/** A watch that was broken is back by then. */
const SEEN_MS = 60_000;

/** Takes a plan of a kind through its life. */
export async function travel(
  kind: JourneyKind,
  id: string,
  surroundings: Surroundings,
  report: Report,
): Promise<void> {
  const { plant, endpoint, objects, outside } = surroundings;
  const { kube } = plant;
  const dr = (of: string, name: string, spec: unknown): KubeObject => ({
    ...DR,
    kind: of,
    metadata: { name, namespace: NAMESPACE },
    spec,
  });

  async function prepare(): Promise<void> {
    const definition = definitionOf(kind, id, endpoint.url);
    for (const name of [`${id}-old`, `${id}-had`]) {
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NAMESPACE } };
      await insistOnCreating(() =>
        kube.create({ ...object, data: { site: 'a' } }, { fieldManager: 'owner' }),
      );
    }
    for (const [name, spec] of Object.entries(definition.workflows)) {
      await insistOnCreating(() => kube.create(dr('DRWorkflow', name, spec)));
    }
    await insistOnCreating(() => kube.create(dr('DRPlan', id, definition.plan)));
    await eventually(
      `plan ${id} is Ready`,
      () => (objects.get<DRPlan>('DRPlan', id)?.status?.phase === 'Ready' ? true : undefined),
      300_000,
      () => JSON.stringify(objects.get<DRPlan>('DRPlan', id)?.status),
    );
  }

  const start = (name: string, spec: Partial<DRPlanExecutionSpec>): Promise<void> =>
    insistOnCreating(() =>
      kube.create(dr('DRPlanExecution', name, { planRef: id, operationType: 'Execute', ...spec })),
    );
  const watched = (name: string): DRPlanExecution | undefined =>
    objects.get<DRPlanExecution>('DRPlanExecution', name);

  /** Waits for the end of an execution, and checks all that must hold from that moment on. */
  async function ended(
    name: string,
    phase?: string,
    run?: 'COMPLETED' | 'TERMINATED',
  ): Promise<DRPlanExecution> {
    await eventually(
      `execution ${name} has ended`,
      () => (isTerminalExecution(watched(name)?.status?.phase) ? true : undefined),
      RUN_MS,
      () => JSON.stringify(watched(name)?.status),
    );
    const found = await insist(() =>
      kube.get<DRPlanExecution>({ ...DR, kind: 'DRPlanExecution', namespace: NAMESPACE, name }),
    );
    if (found === undefined) throw new Error(`execution ${name} is gone`);
    if (phase !== undefined && found.status?.phase !== phase) {
      throw new Error(`${name} is ${found.status?.phase} instead of ${phase}: ${found.status?.message}`);
    }
    // One that was refused has never had the plan nor a run.
    if (found.status?.temporal === undefined) return found;
    await checkPlan(plant, id, found.metadata.uid ?? '', found.status.phase ?? '', report);
    await checkRun(plant, found, report, run);
    const { uid = '' } = found.metadata;
    const workflowId = runWorkflowId({ cluster: plant.cluster, namespace: NAMESPACE, name, uid });
    await checkSecrecy(plant, { name, object: found, workflowId }, report);
    return found;
  }

  async function revert(name: string): Promise<DRPlanExecution> {
    await start(`${id}-r`, { operationType: 'Revert', revertExecutionRef: name });
    return ended(`${id}-r`, 'Succeeded');
  }

  /** The one Job of the journey; its name has the execution's at its front. */
  const jobs = (): string[] => objects.names('Job', `${id}-`);

  /** What has happened is seen later by a watch that was broken a moment ago. */
  const seen = (look: () => boolean): Promise<unknown> =>
    eventually('it is seen', () => look() || undefined, SEEN_MS).catch(() => undefined);

  async function once(of: WatchedKind, name: string): Promise<void> {
    await seen(() => objects.life(of, name).uids.length > 0);
    const { uids } = objects.life(of, name);
    if (uids.length !== 1) report(`${of} ${name} was made ${uids.length} times`);
  }
  async function contents(name: string, expected: readonly string[]): Promise<void> {
    const sites = (): string[] =>
      objects.life('ConfigMap', name).contents.map((text) => (JSON.parse(text) as { site: string }).site);
    await seen(() => sites().length >= expected.length);
    if (sites().join() !== expected.join()) {
      report(`ConfigMap ${name} went through ${sites().join(', ')} instead of ${expected.join(', ')}`);
    }
  }
  const gone = (of: WatchedKind, name: string): Promise<void> =>
    eventually(
      `${of} ${name} is gone`,
      () => (objects.life(of, name).exists ? undefined : true),
      300_000,
    ).then(() => undefined);
  const jobRuns = (): Promise<true> =>
    eventually(
      `the Job of ${id} is there`,
      () => (jobs().length > 0 ? true : undefined),
      RUN_MS,
      () => JSON.stringify(watched(`${id}-x`)?.status),
    );
  async function oneJob(): Promise<void> {
    await seen(() => jobs().length > 0);
    const names = jobs();
    if (names.length !== 1) report(`${names.length} Jobs were made: ${names.join(', ')}`);
    for (const name of names) {
      await once('Job', name);
      await gone('Job', name);
    }
  }

  /** Waits until somebody has acted upon the run from outside; who waits for too long does it. */
  async function actedUpon(act: OutsideAct): Promise<void> {
    const name = `${id}-x`;
    const workflowId = (): string | undefined => {
      const uid = watched(name)?.metadata.uid;
      return uid && runWorkflowId({ cluster: plant.cluster, namespace: NAMESPACE, name, uid });
    };
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    outside.set(id, { act, workflowId, done });
    await eventually(
      `${act} of ${id}`,
      () => (isDone || endpoint.hits(`/${id}/open`) > 0 ? true : undefined),
      RUN_MS,
      () => JSON.stringify(watched(name)?.status),
    );
    const late = Date.now() + LAST_CALL_MS;
    await eventually(
      `${act} of ${id}`,
      async () => {
        if (isDone) return true;
        // Somebody is at it once the target is taken.
        if (Date.now() < late || !outside.delete(id)) return undefined;
        return actFromOutside(plant.temporal, workflowId() ?? '', act).then(
          () => true,
          () => {
            // Temporal was away: it is still to be done.
            outside.set(id, { act, workflowId, done });
            return undefined;
          },
        );
      },
      RUN_MS,
    );
  }

  /** A run that was ended from outside while its Job hung: all of it that acted has stopped, and can be undone. */
  async function endedFromOutside(
    phase: string,
    reason: string,
    run?: 'COMPLETED' | 'TERMINATED',
  ): Promise<void> {
    const found = await ended(`${id}-x`, phase, run);
    if (found.status?.reason !== reason) {
      report(`reason is ${found.status?.reason} instead of ${reason}: ${found.status?.message}`);
    }
    const opened = endpoint.keys(`/${id}/open`).length > 0;
    const canUndo = hasEffects(found.status?.stageStatuses, found.status?.undone);
    if (opened && !canUndo) report(`nothing to undo is known: ${JSON.stringify(found.status)}`);
    if (canUndo) await revert(`${id}-x`);
    const names = jobs();
    if (names.length > 1) report(`${names.length} Jobs were made: ${names.join(', ')}`);
    for (const name of names) {
      await once('Job', name);
      await gone('Job', name);
    }
    checkEffects(endpoint, id, opened ? ['open', 'close'] : canUndo ? ['close'] : [], report);
    if (objects.life('ConfigMap', `${id}-new`).uids.length > 0) report('an action began after the end');
  }

  /** Deletes what was run. Its prior states go with it; its snapshots stay until a sweep finds them unused. */
  async function clear(): Promise<void> {
    const names = objects.names('DRPlanExecution', `${id}-`);
    for (const name of names) {
      await insist(() =>
        kube.delete({ ...DR, kind: 'DRPlanExecution', namespace: NAMESPACE, name }).then(() => undefined),
      );
    }
    await Promise.all(names.map((name) => gone('DRPlanExecution', name)));
    for (const name of objects.names('Secret', `${id}-`)) await gone('Secret', name);
  }

  await prepare();
  await Promise.all([
    start(`${id}-x`, {}),
    // Both want the plan at the same time.
    ...(kind === 'rivals' ? [start(`${id}-y`, {})] : []),
  ]);
  switch (kind) {
    case 'switch': {
      await ended(`${id}-x`, 'Succeeded');
      checkEffects(endpoint, id, ['open', 'tell', 'done'], report);
      await once('Localization', id);
      await once('Subscription', id);
      await once('ConfigMap', `${id}-new`);
      await revert(`${id}-x`);
      checkEffects(endpoint, id, ['open', 'tell', 'done', 'close'], report);
      await contents(`${id}-old`, ['a', 'b', 'a']);
      await contents(`${id}-had`, ['a', 'b', 'a']);
      await contents(`${id}-new`, ['b']);
      for (const of of ['Localization', 'Subscription'] as const) {
        await gone(of, id);
        await once(of, id);
      }
      await gone('ConfigMap', `${id}-new`);
      await oneJob();
      break;
    }
    case 'short':
      await ended(`${id}-x`, 'Succeeded');
      checkEffects(endpoint, id, ['open'], report);
      await contents(`${id}-old`, ['a', 'b']);
      await contents(`${id}-had`, ['a', 'b']);
      await once('ConfigMap', `${id}-new`);
      break;
    case 'rivals': {
      const both = await Promise.all([ended(`${id}-x`), ended(`${id}-y`)]);
      const phases = both.map(({ status }) => status?.phase).sort();
      if (phases.join() !== 'Failed,Succeeded') report(`of two rivals one must win: ${phases.join(', ')}`);
      checkEffects(endpoint, id, ['open'], report);
      await once('ConfigMap', `${id}-new`);
      break;
    }
    case 'trespass': {
      const found = await ended(`${id}-x`);
      const { phase, message } = found.status ?? {};
      if (phase !== 'Failed') report(`what its account may not do is ${phase} and not Failed: ${message}`);
      const { reason, effect } = actionIn(found, 'trespass') ?? {};
      if (reason !== 'Forbidden') report(`the action without a right ended with ${reason}, not Forbidden`);
      if (effect === 'Done') report('the action without a right is said to have had its effect');
      checkEffects(endpoint, id, ['open'], report);
      const away = { apiVersion: 'v1', kind: 'ConfigMap', namespace: FOREIGN_NAMESPACE, name: `${id}-away` };
      if ((await insist(() => kube.get(away))) !== undefined)
        report(`an action did what its account may not do: it made ConfigMap ${away.namespace}/${away.name}`);
      break;
    }
    case 'cancel': {
      await jobRuns();
      await insist(() =>
        kube.patch(
          { ...DR, kind: 'DRPlanExecution', namespace: NAMESPACE, name: `${id}-x` },
          { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
          { kind: 'merge' },
        ),
      );
      await ended(`${id}-x`, 'Cancelled');
      await oneJob();
      checkEffects(endpoint, id, ['open'], report);
      await revert(`${id}-x`);
      checkEffects(endpoint, id, ['open', 'close'], report);
      if (objects.life('ConfigMap', `${id}-new`).uids.length > 0) report('an action began after the cancel');
      break;
    }
    case 'delete': {
      await jobRuns();
      const uid = watched(`${id}-x`)?.metadata.uid ?? '';
      await insist(() =>
        kube
          .delete({ ...DR, kind: 'DRPlanExecution', namespace: NAMESPACE, name: `${id}-x` })
          .then(() => undefined),
      );
      await eventually(
        `execution ${id}-x is gone`,
        () => (objects.life('DRPlanExecution', `${id}-x`).exists ? undefined : true),
        RUN_MS,
        () => JSON.stringify(watched(`${id}-x`)),
      );
      await oneJob();
      checkEffects(endpoint, id, ['open'], report);
      await eventually(
        `plan ${id} is free`,
        () => (objects.get<DRPlan>('DRPlan', id)?.status?.currentExecution === undefined ? true : undefined),
        300_000,
        () => JSON.stringify(objects.get<DRPlan>('DRPlan', id)?.status),
      );
      await checkPlan(plant, id, uid, 'Cancelled', report);
      if (objects.life('ConfigMap', `${id}-new`).uids.length > 0)
        report('an action began after the deletion');
      break;
    }
    case 'terminate':
      await actedUpon(kind);
      await endedFromOutside('Failed', 'RunTerminated', 'TERMINATED');
      break;
    case 'terminate-stage':
      await actedUpon(kind);
      await endedFromOutside('Failed', 'StageFailed');
      break;
    case 'request-cancel':
    case 'request-cancel-stage':
      await actedUpon(kind);
      await endedFromOutside('Cancelled', 'Cancelled');
      break;
    case 'reset': {
      const first = await eventually(
        `the run of ${id} is recorded`,
        () => watched(`${id}-x`)?.status?.temporal?.runId,
        RUN_MS,
      );
      await actedUpon(kind);
      const found = await ended(`${id}-x`);
      if (found.status?.temporal?.runId === first) report('the run that was reset is not followed');
      if (found.status?.phase !== 'Succeeded') {
        report(`the run that was reset is ${found.status?.phase}: ${found.status?.message}`);
      }
      checkEffects(endpoint, id, ['open'], report);
      await once('ConfigMap', `${id}-new`);
      break;
    }
    case 'rollback': {
      const found = await ended(`${id}-x`, 'Failed');
      const rolledBack = found.status?.conditions?.find(({ type }) => type === 'RolledBack');
      if (rolledBack?.status !== 'True')
        report(`RolledBack is ${rolledBack?.status}: ${rolledBack?.message}`);
      const isUnclear = actionIn(found, 'fail')?.effect !== 'None';
      checkEffects(endpoint, id, ['open', 'fail', 'close', ...(isUnclear ? ['unfail'] : [])], report);
      await contents(`${id}-old`, ['a', 'b', 'a']);
      await contents(`${id}-had`, ['a', 'b', 'a']);
      await once('ConfigMap', `${id}-new`);
      await gone('ConfigMap', `${id}-new`);
      break;
    }
  }
  await clear();
}
