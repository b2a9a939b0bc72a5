/** Whether what a Job has started has really stopped: its pods outlive it (S3.26, S3.27). */
import type { PodsEnd } from '../../core/handler.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration } from '../../../api/core/duration.js';
import { isRetryable, KubeError } from '../../../kube/error.js';
import { isLive } from './job-state.js';
import type { Pod } from './job-state.js';

/** Time between two looks for pods that are going away. */
const POD_POLL_MS = 500;
/** Kubernetes' own default, for pods that set none. */
const DEFAULT_GRACE_SECONDS = 30;
/** Default wait for pods past the end of their grace. */
export const STOP_WAIT_MS = 300_000;
const MAX_NAMED = 20;

/** What one look has found; `none`: no pod at all, not even one that has ended. */
type Look = Exclude<PodsEnd, { kind: 'quiet' }> | { kind: 'quiet'; none: boolean };

/**
 * Why a Job runs no more. `interrupted`: its action ended without an answer. `stageEnded`: its stage was ended from
 * outside. `displaced`: an earlier run left it in the way of a hook. `disappeared`: it is gone, although nothing here
 * deleted it. `unknown`: a run that an earlier release began does not say.
 */
export type StopCause =
  | {
      kind: 'cancelled' | 'interrupted' | 'stageEnded' | 'undone' | 'displaced' | 'disappeared' | 'unknown';
    }
  | { kind: 'timedOut'; timeoutMs: number };

/**
 * What has become of a Job, in words.
 *
 * @param isGone it was not there any more when it was to be deleted
 */
export function fateOf(cause: StopCause, isGone: boolean): string {
  const because = (why: string): string => (isGone ? `is gone, ${why}` : `was deleted because ${why}`);
  switch (cause.kind) {
    case 'cancelled':
      return because('its action was cancelled');
    case 'timedOut':
      return because(`it did not end within ${formatDuration(cause.timeoutMs)}`);
    case 'interrupted':
      return because('its action ended without an answer');
    case 'stageEnded':
      return because('its stage was ended from outside');
    case 'undone':
      return isGone ? 'is gone, its action is undone' : 'was deleted to undo its action';
    case 'displaced':
      return `was left by an earlier run and ${isGone ? 'is gone' : 'was deleted to make room'}`;
    case 'disappeared':
      return 'was deleted by somebody else, or by a time limit';
    case 'unknown':
      return isGone ? 'is gone' : 'was deleted';
  }
}

/** What is waited for. */
export interface PodsWait {
  /** The Job, as in messages: `Job namespace/name`. */
  shown: string;
  /** What has become of it: see {@link fateOf}. */
  fate: string;
  find: (signal: AbortSignal) => Promise<Pod[]>;
  /** The API server's time, in milliseconds since the epoch: pods record by this clock when they were deleted. */
  now: () => number;
  /** When the Job was deleted, by the same clock: counts for pods that nobody has deleted yet. */
  stoppedAt: number;
  /** Grace of the template: for pods that may not be seen. */
  graceMs: number;
  /** How long past the end of their grace pods are waited for. */
  waitMs: number;
  say: (message: string) => void;
  signal: AbortSignal;
}

/** `terminationGracePeriodSeconds` of a pod's spec, in milliseconds. */
export function graceOf(spec: unknown): number {
  const { terminationGracePeriodSeconds: seconds } = (spec ?? {}) as {
    terminationGracePeriodSeconds?: unknown;
  };
  return (typeof seconds === 'number' ? seconds : DEFAULT_GRACE_SECONDS) * 1000;
}

/** Waits until pods are gone or terminal, their time is over, or the signal is aborted. */
export async function awaitPods(wait: PodsWait): Promise<PodsEnd> {
  const { shown, fate, signal } = wait;
  let said = `${shown} ${fate}; whether its pods are gone is not known yet`;
  // The Job controller may not have seen the delete yet: a Job that was just created may still get a pod.
  let isSure = false;
  while (!signal.aborted) {
    const seen = await look(wait);
    switch (seen.kind) {
      case 'quiet':
        if (isSure || !seen.none) return { kind: 'quiet' };
        break;
      case 'unconfirmed':
        return seen;
      case 'waiting':
        ({ said } = seen);
        wait.say(said);
    }
    isSure = true;
    await sleep(POD_POLL_MS, undefined, { signal }).catch(() => undefined);
  }
  return { kind: 'waiting', said };
}

async function look(wait: PodsWait): Promise<Look> {
  const { shown } = wait;
  const told = `${shown} ${wait.fate}`;
  try {
    const found = await wait.find(wait.signal);
    const pods = found.filter(isLive);
    if (pods.length === 0) return { kind: 'quiet', none: found.length === 0 };
    const places = pods.map(placeOf);
    if (pods.some((pod) => wait.now() < endOfWait(pod, wait))) {
      return {
        kind: 'waiting',
        said: `${told}; waits until its pods are gone: ${listed(places)}`,
      };
    }
    return {
      kind: 'unconfirmed',
      places: places.slice(0, MAX_NAMED),
      said: `StopUnconfirmed: ${told}, but ${formatDuration(wait.waitMs)} after their grace these pods are still there: ${listed(places)}; make sure that they have stopped before anything else takes their place`,
    };
  } catch (error) {
    if (wait.signal.aborted || isRetryable(error)) {
      const why = error instanceof KubeError ? `: ${error.message}` : '';
      return { kind: 'waiting', said: `${told}; its pods cannot be looked at${why}` };
    }
    if (!(error instanceof KubeError)) throw error;
    // Without the right to list pods nothing more can be known than how long they may take.
    const hidden = `its pods may not be listed (${error.message})`;
    return wait.now() < wait.stoppedAt + wait.graceMs
      ? { kind: 'waiting', said: `${told}; ${hidden}, so their grace is waited for` }
      : {
          kind: 'unconfirmed',
          places: [shown],
          said: `StopUnconfirmed: ${told}, but ${hidden}; make sure that they have stopped before anything else takes their place`,
        };
  }
}

/** The deletion timestamp of a pod includes its grace. */
function endOfWait({ metadata, spec }: Pod, { stoppedAt, waitMs }: PodsWait): number {
  const deleted = Date.parse(metadata.deletionTimestamp ?? '');
  return (Number.isNaN(deleted) ? stoppedAt + graceOf(spec) : deleted) + waitMs;
}

function placeOf({ metadata, spec }: Pod): string {
  const node = spec?.nodeName;
  return `pod ${metadata.namespace ?? 'default'}/${metadata.name}${node === undefined ? '' : ` on node ${node}`}`;
}

const listed = (places: string[]): string =>
  `${places.slice(0, MAX_NAMED).join(', ')}${places.length > MAX_NAMED ? `, and ${places.length - MAX_NAMED} more` : ''}`;
