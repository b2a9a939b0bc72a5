/** Whether a bridge still serves, wherever it runs: one that runs outside the cluster is no Deployment that could be removed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION, GROUP } from '../../../api/core/group.js';
import { CLAIM_CONFIG_MAP } from '../../../kube/claim-words.js';
import type { KubeClient } from '../../../kube/client.js';
import { KubeError } from '../../../kube/error.js';
import { whyNotCalled } from './failure.js';
import type { KubeObject, ObjectKey } from '../../../kube/object.js';

type Claim = KubeObject & { data?: Record<string, string> };

/** A bridge renews its claim every 20 s, or 30 s after another replica has died. */
const CLAIM_LIVES_MS = 45_000;
const FIELD_MANAGER = 'drover-uninstall';
const NAMESPACE = 'default';

/**
 * Looks for a bridge that serves: one that answers for the webhooks, or renews the claim to the cluster's id.
 *
 * @param options.claimLivesMs a claim not renewed for this long belongs to a bridge that is gone (default 45 s)
 * @param options.onWait called when a claim is fresh, so that its next renewal is awaited
 * @returns how it was noticed, for people; undefined where none was
 */
export async function findServingBridge(
  kube: KubeClient,
  options: { claimLivesMs?: number; everyMs?: number; onWait?: (seconds: number) => void } = {},
): Promise<string | undefined> {
  if ((await askWebhooks(kube)).kind === 'answered') return 'a bridge answers for the webhooks';
  const { claimLivesMs = CLAIM_LIVES_MS, everyMs = 500, onWait } = options;
  const before = await findClaims(kube);
  const ages = await Promise.all(before.map((claim) => ageOf(kube, claim)));
  const leftMs = claimLivesMs - Math.min(Number.POSITIVE_INFINITY, ...ages);
  if (leftMs <= 0) return undefined;
  onWait?.(Math.ceil(leftMs / 1000));
  const known = new Map(before.map((claim) => [claim.metadata.uid, wordsOf(claim)]));
  const until = performance.now() + leftMs;
  while (performance.now() < until) {
    await sleep(everyMs);
    const renewed = (await findClaims(kube)).find(
      (claim) => known.get(claim.metadata.uid) !== wordsOf(claim),
    );
    if (renewed !== undefined) {
      return `a bridge renews ConfigMap ${renewed.metadata.namespace}/${CLAIM_CONFIG_MAP}`;
    }
  }
  return undefined;
}

/** Whether reviews are answered. `unknown`: nobody is asked, or the caller may not create. */
export type WebhookAnswer = { kind: 'answered' } | { kind: 'unreachable'; why: string } | { kind: 'unknown' };

/** Asks for a review of a workflow that is refused, for what only a review finds. Nothing is stored. */
export async function askWebhooks(kube: KubeClient): Promise<WebhookAnswer> {
  const workflow = {
    apiVersion: API_VERSION,
    kind: 'DRWorkflow',
    metadata: { name: 'drover-looks', namespace: NAMESPACE },
    spec: { actions: [{ name: 'a', type: 'Wait', wait: { duration: '1s' }, dependsOn: ['nobody'] }] },
  };
  try {
    await kube.create(workflow, { dryRun: true, fieldManager: FIELD_MANAGER });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.message.includes(`admission webhook "validate.${GROUP}" denied`)) return { kind: 'answered' };
    const why = whyNotCalled(error);
    // No right to create, and a kind that is gone, are no answer.
    return why === undefined ? { kind: 'unknown' } : { kind: 'unreachable', why };
  }
  return { kind: 'unknown' };
}

async function findClaims(kube: KubeClient): Promise<Claim[]> {
  const { items } = await kube.list<Claim>(
    { apiVersion: 'v1', kind: 'ConfigMap' },
    { fieldSelector: `metadata.name=${CLAIM_CONFIG_MAP}` },
  );
  return items;
}

const wordsOf = ({ data }: Claim): string => data?.['words'] ?? '';

/** How long ago somebody else wrote it, by the clock of the API server alone. */
async function ageOf(kube: KubeClient, { metadata }: Claim): Promise<number> {
  const key: ObjectKey = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: metadata.name,
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
  };
  const touched = await kube.patch<Claim>(
    key,
    { metadata: { annotations: { [`${GROUP}/looked`]: 'true' } } },
    { kind: 'merge', fieldManager: FIELD_MANAGER, dryRun: true },
  );
  const latest = (isOurs: boolean): number =>
    Math.max(
      ...(touched.metadata.managedFields ?? [])
        .filter(({ manager }) => (manager === FIELD_MANAGER) === isOurs)
        .map(({ time }) => Date.parse(time ?? '')),
    );
  const age = latest(true) - latest(false);
  return Number.isFinite(age) ? age : 0;
}
