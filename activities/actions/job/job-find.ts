/** Finds what an action has begun by its marks: its Jobs, and the pods that outlive them. */
import { LABELS } from '../../../api/core/group.js';
import { positionLabel } from '../../../api/plan/naming.js';
import type { ObjectReference } from '../../../api/plan/types.js';
import { isRetryable, KubeError } from '../../../kube/error.js';
import { undoneUid } from '../../../workflows/plan/contract.js';
import type { Attempt } from '../../core/handler.js';
import { isLive, podsOf } from './job-state.js';
import type { Job, Pod } from './job-state.js';
import { namespaceOf, planJob } from './job-template.js';
import { isMarkedBy } from '../../core/marks.js';

type Direction = 'forward' | 'undo';

/** The Job that is gone, as its pods, or an earlier attempt that saw them, name it. */
export async function formerJob(
  attempt: Attempt,
  find: (signal: AbortSignal) => Promise<Pod[]>,
): Promise<Job | undefined> {
  const { job: block } = attempt.action;
  if (block === undefined) return undefined;
  let pods: Pod[];
  try {
    pods = await find(attempt.signal);
  } catch (error) {
    if (attempt.signal.aborted || isRetryable(error) || !(error instanceof KubeError)) throw error;
    // Nobody can tell whether there were any: what the action asks for tells how long they may take.
    const plan = planJob(block, attempt);
    return 'kind' in plan ? undefined : plan.job;
  }
  const namespace = namespaceOf(block, attempt);
  const [owner] = ownersOf(pods, namespace);
  if (owner !== undefined) return owner;
  const { jobName: name, jobUid: uid } = attempt.remembered ?? {};
  if (typeof name !== 'string' || typeof uid !== 'string') return undefined;
  return jobAt({ name, namespace, uid });
}

/** Marks of the action, in all its rounds. */
function marksOf(attempt: Attempt, direction: Direction): { labelSelector: string; key: string } {
  const { run: identity, at } = attempt.task;
  // For an undo the marks are those of the run that made the Job.
  const uid = direction === attempt.task.direction ? identity.uid : undoneUid(identity);
  return {
    labelSelector: `${LABELS.execution}=${uid},${LABELS.action}=${positionLabel(at)}`,
    key: attempt.key.replace(/\/(forward|undo)\/(\d+)$/, `/${direction}/$2`),
  };
}

/** Jobs of the action in all its rounds, oldest first. */
export async function findJobs(attempt: Attempt, direction: Direction): Promise<Job[]> {
  const { job: block } = attempt.action;
  if (block === undefined) return [];
  const { labelSelector, key } = marksOf(attempt, direction);
  const { items } = await attempt.kube.list<Job>(
    { apiVersion: 'batch/v1', kind: 'Job' },
    { namespace: namespaceOf(block, attempt), labelSelector, signal: attempt.signal },
  );
  return items
    .filter((job) => isMarkedBy(job, key))
    .sort((a, b) => (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''));
}

/** Pods of the action in all its rounds; those of Jobs that an earlier release made have no marks. */
export async function findPods(
  attempt: Attempt,
  jobs: readonly Job[],
  { direction, signal }: { direction: Direction; signal: AbortSignal },
): Promise<Pod[]> {
  const { job: block } = attempt.action;
  if (block === undefined) return [];
  const { labelSelector, key } = marksOf(attempt, direction);
  const { items } = await attempt.kube.list<Pod>(
    { apiVersion: 'v1', kind: 'Pod' },
    { namespace: namespaceOf(block, attempt), labelSelector, signal },
  );
  const others = await Promise.all(jobs.map((job) => podsOf(attempt.kube, job, { signal })));
  const found = [...items.filter((pod) => isMarkedBy(pod, key)), ...others.flat()];
  return [...new Map(found.map((pod) => [pod.metadata.uid, pod])).values()];
}

/** Jobs, perhaps gone themselves, whose pods still run, of an action that has recorded none. */
export async function orphanedJobs(
  attempt: Attempt,
  jobs: readonly Job[],
  direction: Direction,
): Promise<Job[]> {
  const { labelSelector, key } = marksOf(attempt, direction);
  const known = new Set(jobs.map(({ metadata }) => metadata.uid));
  const found = await jobsOfPods(attempt, labelSelector, (pod) => isMarkedBy(pod, key));
  return found.filter(({ metadata }) => !known.has(metadata.uid));
}

/** The Jobs of all pods of a label that still run. Whoever may not list pods learns of none. */
export async function jobsOfPods(
  attempt: Attempt,
  labelSelector: string,
  isMeant: (pod: Pod) => boolean = () => true,
): Promise<Job[]> {
  const { job: block } = attempt.action;
  if (block === undefined) return [];
  const namespace = namespaceOf(block, attempt);
  try {
    const { items } = await attempt.kube.list<Pod>(
      { apiVersion: 'v1', kind: 'Pod' },
      { namespace, labelSelector, signal: attempt.signal },
    );
    return ownersOf(
      items.filter((pod) => isLive(pod) && isMeant(pod)),
      namespace,
    );
  } catch (error) {
    if (error instanceof KubeError && error.code === 403) return [];
    throw error;
  }
}

/** The Jobs that pods belong to. */
function ownersOf(pods: readonly Pod[], namespace: string): Job[] {
  const owners = pods
    .flatMap(({ metadata }) => metadata.ownerReferences ?? [])
    .filter(({ kind }) => kind === 'Job');
  return [...new Map(owners.map(({ name, uid }) => [uid, jobAt({ name, namespace, uid })])).values()];
}

/** The Job that status names. */
export const fromReference = ({ name, namespace, uid }: ObjectReference): Job =>
  jobAt({ name, namespace: namespace ?? 'default', uid });

const jobAt = ({ uid, ...named }: { name: string; namespace: string; uid?: string | undefined }): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { ...named, ...(uid !== undefined && { uid }) },
});
