import type { ActionAddress } from '../../api/plan/snapshot/run.js';
import { traceOf } from '../../api/plan/undo/trace.js';
import type { StageVouchers } from './contract.js';
import type { ActionOutcome, ClusterTarget, TaskSeals } from './contract-tasks.js';

/** What workers vouch for in a stage: its clusters, and what a rollback inside the run relies on. */
export interface Vouchers {
  /** Keeps the seals of the clusters of an action. */
  found(at: ActionAddress, clusters: readonly ClusterTarget[]): void;
  /** Keeps the seal of what an action, or its part in one cluster, has left behind. */
  ended(at: ActionAddress, outcome: ActionOutcome): void;
  /** Seal of the cluster of a part. */
  clusterSeal(at: ActionAddress): string | undefined;
  /** The seals that an undo inside the run needs. */
  undoSeals(at: ActionAddress): Pick<TaskSeals, 'cluster' | 'effects'>;
  /** Everything, to be handed on; undefined when there is nothing. */
  all(): StageVouchers | undefined;
}

/**
 * Keeps vouchers.
 *
 * @param known what the stage has handed on to its rollback
 */
export function createVouchers(known: StageVouchers = { effects: {}, clusters: {} }): Vouchers {
  const effects = { ...known.effects };
  const clusters = { ...known.clusters };
  return {
    found: (at, targets) => {
      for (const { cluster, seal } of targets)
        if (seal !== undefined) clusters[keyOf({ ...at, cluster })] = seal;
    },
    ended: (at, outcome) => {
      if (outcome.phase === 'Skipped' || outcome.outputs === undefined) return;
      const { seal, outputs } = outcome;
      const key = keyOf(at);
      // An action's outputs are replaced as a whole; of a part, what an earlier round has made stays known.
      if (at.cluster === undefined) effects[key] = seal === undefined ? [] : [{ seal }];
      else if (seal !== undefined)
        effects[key] = [...(effects[key] ?? []), { seal, trace: traceOf(outputs) ?? {} }];
    },
    clusterSeal: (at) => clusters[keyOf(at)],
    undoSeals: (at) => {
      const [cluster, list = []] = [clusters[keyOf(at)], effects[keyOf(at)]];
      return { ...(cluster !== undefined && { cluster }), ...(list.length > 0 && { effects: list }) };
    },
    all: () => {
      const kept = Object.fromEntries(Object.entries(effects).filter(([, list]) => list.length > 0));
      const isEmpty = Object.keys(kept).length + Object.keys(clusters).length === 0;
      return isEmpty ? undefined : { effects: kept, clusters };
    },
  };
}

const keyOf = ({ workflow, action, cluster }: ActionAddress): string =>
  cluster === undefined ? `${workflow}/${action}` : `${workflow}/${action}@${cluster}`;
