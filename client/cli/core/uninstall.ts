/** Removes an installation in an order that leaves nothing hanging: runs, programs, webhooks, kinds. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ANNOTATIONS,
  API_VERSION,
  FIELD_MANAGER,
  FINALIZERS,
  GROUP,
  LABELS,
  PLURALS,
  POLICY_PLURAL,
} from '../../../api/core/group.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import { isConflict, isNotFound, KubeError } from '../../../kube/error.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';
import { listPages } from '../../../kube/pages.js';

/** An execution, as far as taking it away needs it. */
export interface FoundExecution {
  namespace: string;
  name: string;
  uid: string;
  hasEnded: boolean;
  /** Whether a finalizer of ours, or of the controller before, holds it. */
  isHeld: boolean;
}

/** What is there of an installation. */
export interface Installation {
  executions: readonly FoundExecution[];
  plans: number;
  workflows: number;
  /** Deployments of bridge and worker. */
  programs: readonly ObjectKey[];
  webhooks: readonly ObjectKey[];
  kinds: readonly ObjectKey[];
}

const HELD_BY: readonly string[] = Object.values(FINALIZERS);
const PROGRAM_LABEL = 'app.kubernetes.io/name=drover';
const KINDS = [PLURALS.DRPlanExecution, PLURALS.DRPlan, PLURALS.DRWorkflow, POLICY_PLURAL];
const WEBHOOKS = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'];

/**
 * Looks for what an installation consists of.
 *
 * @throws KubeError where something may not be read
 */
export async function findInstallation(kube: KubeClient): Promise<Installation> {
  const [executions, plans, workflows, deployments, webhooks, kinds] = await Promise.all([
    findExecutions(kube),
    count(kube, 'DRPlan'),
    count(kube, 'DRWorkflow'),
    kube.list({ apiVersion: 'apps/v1', kind: 'Deployment' }, { labelSelector: PROGRAM_LABEL }),
    findWebhooks(kube),
    present(
      kube,
      KINDS.map((plural) => ({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        name: `${plural}.${GROUP}`,
      })),
    ),
  ]);
  const programs = deployments.items.map(({ metadata: { name, namespace = '' } }) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    namespace,
    name,
  }));
  return { executions, plans, workflows, programs, webhooks, kinds };
}

/** Webhook configurations of ours that are there. */
export const findWebhooks = (kube: KubeClient): Promise<ObjectKey[]> =>
  present(
    kube,
    WEBHOOKS.map((kind) => ({ apiVersion: 'admissionregistration.k8s.io/v1', kind, name: 'drover' })),
  );

async function findExecutions(kube: KubeClient): Promise<FoundExecution[]> {
  const found: FoundExecution[] = [];
  for await (const { metadata, status } of objectsOf<DRPlanExecution>(kube, 'DRPlanExecution')) {
    found.push({
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      uid: metadata.uid ?? '',
      hasEnded: isTerminalExecution(status?.phase),
      isHeld: metadata.finalizers?.some((finalizer) => HELD_BY.includes(finalizer)) ?? false,
    });
  }
  return found;
}

async function count(kube: KubeClient, kind: string): Promise<number> {
  let objects = 0;
  for await (const _ of objectsOf(kube, kind, true)) objects += 1;
  return objects;
}

/** All objects of a kind of ours; none where the kind is gone already. */
async function* objectsOf<T>(kube: KubeClient, kind: string, metadataOnly = false): AsyncGenerator<T> {
  try {
    for await (const page of listPages<T>(kube, { apiVersion: API_VERSION, kind }, { metadataOnly }))
      yield* page.items;
  } catch (error) {
    if (!isKindMissing(error)) throw error;
  }
}

const isKindMissing = (error: unknown): boolean =>
  error instanceof KubeError && (error.reason === 'KindNotFound' || error.code === 404);

async function present(kube: KubeClient, keys: readonly ObjectKey[]): Promise<ObjectKey[]> {
  const found = await Promise.all(keys.map((key) => kube.get(key)));
  return keys.filter((_, index) => found[index] !== undefined);
}

/**
 * Cancels what has not ended and waits for the end.
 *
 * @param options.onWait called with how many are left, at each look
 * @returns what had not ended when the time was up
 * @throws KubeError where a cancel is refused, as by webhooks that no bridge answers
 */
export async function cancelRuns(
  kube: KubeClient,
  options: { timeoutMs: number; everyMs?: number; onWait: (left: number) => void },
): Promise<FoundExecution[]> {
  const { timeoutMs, everyMs = 1000, onWait } = options;
  const until = performance.now() + timeoutMs;
  const asked = new Set<string>();
  for (;;) {
    // Looked for anew each time: until the webhooks and kinds are gone somebody may start another run.
    const live = (await findExecutions(kube)).filter(({ hasEnded }) => !hasEnded);
    if (live.length === 0 || performance.now() >= until) return live;
    for (const { namespace, name, uid } of live) {
      if (asked.has(uid)) continue;
      await ignoreGone(
        kube.patch(
          { apiVersion: API_VERSION, kind: 'DRPlanExecution', namespace, name },
          { metadata: { annotations: { [ANNOTATIONS.cancel]: 'true' } } },
          { kind: 'merge', fieldManager: FIELD_MANAGER },
        ),
      );
      asked.add(uid);
    }
    onWait(live.length);
    await sleep(everyMs);
  }
}

/** Deletes objects and waits until they are gone. */
export async function removeAll(
  kube: KubeClient,
  keys: readonly ObjectKey[],
  { timeoutMs, everyMs = 250 }: { timeoutMs: number; everyMs?: number },
): Promise<ObjectKey[]> {
  // A Deployment has gone when its pods have: until then they act.
  for (const key of keys)
    await kube.delete(key, { propagationPolicy: key.kind === 'Deployment' ? 'Foreground' : 'Background' });
  const until = performance.now() + timeoutMs;
  for (;;) {
    const left = await present(kube, keys);
    if (left.length === 0 || performance.now() >= until) return left;
    await sleep(everyMs);
  }
}

/** Takes our finalizers off executions, so that they can go without a bridge. */
export async function releaseExecutions(kube: KubeClient): Promise<number> {
  let released = 0;
  for (const { namespace, name, isHeld } of await findExecutions(kube)) {
    if (isHeld && (await release(kube, namespace, name))) released += 1;
  }
  return released;
}

async function release(kube: KubeClient, namespace: string, name: string): Promise<boolean> {
  const key = { apiVersion: API_VERSION, kind: 'DRPlanExecution', namespace, name };
  for (;;) {
    const now = await kube.get<DRPlanExecution>(key);
    const held = now?.metadata.finalizers ?? [];
    const finalizers = held.filter((finalizer) => !HELD_BY.includes(finalizer));
    if (now === undefined || finalizers.length === held.length) return false;
    const { resourceVersion } = now.metadata;
    try {
      await kube.patch(
        key,
        { metadata: { finalizers, resourceVersion } },
        { kind: 'merge', fieldManager: FIELD_MANAGER },
      );
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isConflict(error)) throw error;
    }
  }
}

/** Removes the snapshots of plans, which no object of ours owns. */
export async function removeSnapshots(kube: KubeClient): Promise<number> {
  const type = { apiVersion: 'apps/v1', kind: 'ControllerRevision' };
  const selection = { labelSelector: LABELS.snapshot, metadataOnly: true };
  let removed = 0;
  for await (const page of listPages<KubeObject>(kube, type, selection)) {
    for (const { metadata } of page.items) {
      const { name, namespace = '', uid = '' } = metadata;
      await ignoreGone(kube.delete({ ...type, namespace, name }, { uid }));
      removed += 1;
    }
  }
  return removed;
}

async function ignoreGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
