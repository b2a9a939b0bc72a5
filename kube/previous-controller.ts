/**
 * Looks for the controller that Drover takes over from. While it runs, both would act on the same executions, so nothing
 * may be begun (S5.14).
 */
import { GROUP } from '../api/core/group.js';
import type { KubeClient } from './client.js';
import { isNotFound } from './error.js';
import type { KubeObject } from './object.js';

/** Where to look. */
export interface PreviousControllerOptions {
  /** Parts of the names of its Deployments. */
  names: readonly string[];
  /** Only in this namespace; absent: in all. */
  namespace?: string;
}

/** One sign that it runs. */
export interface ControllerSign {
  kind: 'Deployment' | 'Lease';
  namespace: string;
  name: string;
  /** What shows that it runs, in words. */
  why: string;
}

/** A webhook configuration of somebody else that is asked about our kinds. */
export interface ForeignWebhook {
  kind: 'ValidatingWebhookConfiguration' | 'MutatingWebhookConfiguration';
  name: string;
  /** Whether our objects are refused when nobody answers it. */
  blocks: boolean;
}

/** Parts of the names under which its releases install its Deployment. */
export const PREVIOUS_CONTROLLER_NAMES: readonly string[] = ['drplan-controller'];

/** What its releases call the Lease by which their replicas elect a leader. */
const LEASE_NAME = '65498215.bkbcs.tencent.com';
const PAGE_SIZE = 500;
const TIMEOUT_MS = 10_000;

interface Deployment extends KubeObject {
  status?: { replicas?: number; readyReplicas?: number; terminatingReplicas?: number };
}
interface Lease extends KubeObject {
  spec?: { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number };
}
interface WebhookConfiguration extends KubeObject {
  webhooks?: { failurePolicy?: string; rules?: { apiGroups?: string[] }[] }[];
}

/**
 * Finds out whether the previous controller runs: a Deployment of its name that has pods, be they ready, starting or
 * still ending, or a leader's Lease that is being renewed.
 *
 * @throws KubeError when the API server does not answer or does not allow to look
 */
export async function findPreviousController(
  kube: KubeClient,
  options: PreviousControllerOptions,
): Promise<ControllerSign[]> {
  const [deployments, leases] = await Promise.all([
    findDeployments(kube, options),
    findLeases(kube, options),
  ]);
  return [...deployments, ...leases];
}

/** The signs in one sentence. */
export function describeSigns(signs: readonly ControllerSign[]): string {
  const found = signs.map(({ kind, namespace, name, why }) => `${kind} "${namespace}/${name}" ${why}`);
  return found.join(', ');
}

/** Other webhook configurations that are asked about our kinds, such as those that the previous controller has left. */
export async function findForeignWebhooks(kube: KubeClient, own: string): Promise<ForeignWebhook[]> {
  const kinds = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const;
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const { items } = await kube.list<WebhookConfiguration>(
        { apiVersion: 'admissionregistration.k8s.io/v1', kind },
        { timeoutMs: TIMEOUT_MS },
      );
      return items.flatMap(({ metadata, webhooks = [] }): ForeignWebhook[] => {
        const ours = webhooks.filter(({ rules = [] }) =>
          rules.some(({ apiGroups = [] }) => apiGroups.includes(GROUP)),
        );
        if (metadata.name === own || ours.length === 0) return [];
        return [
          { kind, name: metadata.name, blocks: ours.some(({ failurePolicy }) => failurePolicy !== 'Ignore') },
        ];
      });
    }),
  );
  return found.flat();
}

async function findDeployments(
  kube: KubeClient,
  { names, namespace }: PreviousControllerOptions,
): Promise<ControllerSign[]> {
  const candidates: KubeObject[] = [];
  let next: string | undefined;
  do {
    // Names and no more: a large cluster has thousands of Deployments.
    const { items, metadata } = await kube.list<KubeObject>(
      { apiVersion: 'apps/v1', kind: 'Deployment' },
      {
        ...(namespace !== undefined && { namespace }),
        metadataOnly: true,
        limit: PAGE_SIZE,
        ...(next !== undefined && { continue: next }),
        timeoutMs: TIMEOUT_MS,
      },
    );
    candidates.push(...items.filter((item) => names.some((name) => item.metadata.name.includes(name))));
    next = metadata.continue || undefined;
  } while (next !== undefined);
  const signs = await Promise.all(
    candidates.map(async ({ metadata }): Promise<ControllerSign[]> => {
      const { name, namespace: at = '' } = metadata;
      const key = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: at, name };
      const { status } = (await kube.get<Deployment>(key, { timeoutMs: TIMEOUT_MS })) ?? {};
      const { replicas = 0, readyReplicas = 0, terminatingReplicas = 0 } = status ?? {};
      if (replicas === 0 && readyReplicas === 0 && terminatingReplicas === 0) return [];
      const why =
        readyReplicas > 0
          ? `has ${readyReplicas} ready replica${readyReplicas === 1 ? '' : 's'}`
          : `has pods that are ${replicas > 0 ? 'starting' : 'ending'}`;
      return [{ kind: 'Deployment', namespace: at, name, why }];
    }),
  );
  return signs.flat();
}

async function findLeases(
  kube: KubeClient,
  { namespace }: PreviousControllerOptions,
): Promise<ControllerSign[]> {
  let items: Lease[];
  try {
    ({ items } = await kube.list<Lease>(
      { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
      {
        fieldSelector: `metadata.name=${LEASE_NAME}`,
        timeoutMs: TIMEOUT_MS,
        ...(namespace !== undefined && { namespace }),
      },
    ));
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
  return items.flatMap(({ metadata, spec }): ControllerSign[] => {
    const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 15 } = spec ?? {};
    // The Lease shows when it was written by the clock of its holder, and by that of the API server.
    const written = [renewTime, ...(metadata.managedFields ?? []).map(({ time = '' }) => time)];
    const renewed = Math.max(...written.map((time) => Date.parse(time)).filter((ms) => !Number.isNaN(ms)));
    // Twice its duration: a holder that is late is still one.
    if (holderIdentity === '' || renewed + 2 * leaseDurationSeconds * 1000 <= kube.now()) return [];
    const { name, namespace: at = '' } = metadata;
    return [{ kind: 'Lease', namespace: at, name, why: `is held by "${holderIdentity}"` }];
  });
}
