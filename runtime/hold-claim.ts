import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createClusterClaim } from './cluster-claim.js';
import type { ClaimNote, ClaimWords } from './cluster-claim.js';
import { isRefusedByTemporal } from './refused-by-temporal.js';

/** A claim that was held when it was opened. */
export interface HeldClaim {
  /** Rejects when another installation has taken the cluster id over: then nothing may be done any more. */
  readonly lost: Promise<never>;
}

/** Time between two looks while the claim is held, in milliseconds. */
const HELD_MS = 20_000;
/** Time between two looks while it is not held: somebody waits. */
const TAKEN_MS = 5000;

/**
 * Waits until this installation is the one that answers for its cluster id, and then keeps checking that it still is.
 *
 * An installation without the rights to claim goes on without a claim until it has them, and logs that once: earlier
 * releases did not grant these rights.
 *
 * @param options.renews false: only looks, as a worker does
 * @param options.where the cluster id and the place in Temporal, for people
 * @param options.isRefusedByCluster whether an error of `words` says that a right is missing
 * @param options.onWait called with the reason why nothing is begun
 */
export async function holdClaim(options: {
  words: ClaimWords;
  note: ClaimNote;
  renews: boolean;
  where: { cluster: string; temporal: string };
  isRefusedByCluster: (error: unknown) => boolean;
  log: Logger;
  onWait: (problem: string) => void;
  signal: AbortSignal;
  heldMs?: number;
  takenMs?: number;
}): Promise<HeldClaim> {
  const { where, log, onWait, signal } = options;
  const isRefused = (error: unknown): boolean =>
    isRefusedByTemporal(error) || options.isRefusedByCluster(error);
  const claim = createClusterClaim(options);
  const { heldMs = HELD_MS, takenMs = TAKEN_MS } = options;
  const taken = takenMessage(where);

  for (let shown: string | undefined; !signal.aborted;) {
    const found = await claim.look().catch((error: unknown) => ({ kind: 'unknown', error }) as const);
    if (found.kind === 'held') break;
    if (found.kind === 'unknown' && isRefused(found.error)) {
      log.warn(
        { err: found.error, cluster: where.cluster },
        'may not claim the cluster id: another installation that was restored from the same etcd would not be noticed',
      );
      break;
    }
    const problem =
      found.kind === 'taken'
        ? taken
        : `cannot tell whether another installation has this cluster id: ${String(found.error)}`;
    if (problem !== shown) log.error({ cluster: where.cluster }, problem);
    shown = problem;
    onWait(problem);
    await sleep(takenMs, undefined, { signal }).catch(() => undefined);
  }

  const lost = (async () => {
    while (!signal.aborted) {
      await sleep(heldMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      // A look that fails must not stop a failover.
      const found = await claim.look().catch((error: unknown) => {
        // Missing rights are logged at the start only.
        if (isRefused(error)) return;
        log.warn({ err: error }, 'cannot tell whether this installation still has its cluster id');
      });
      if (found?.kind === 'taken') throw new Error(taken);
    }
    return new Promise<never>(() => undefined);
  })();
  lost.catch(() => undefined);
  return { lost };
}

const takenMessage = ({ cluster, temporal: where }: { cluster: string; temporal: string }): string =>
  `ClusterIdentityTaken: another installation answers for cluster ${cluster} in ${where}; ` +
  'either this cluster has a second one, though one serves all its namespaces, or another cluster was restored from the same backup of etcd. Nothing is begun here. ' +
  'Stop the other one, and this one goes on within a minute and a half; to keep both clusters, give one of them a Temporal namespace of its own';
