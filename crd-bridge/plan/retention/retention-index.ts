import { ANNOTATIONS } from '../../../api/core/group.js';
import { readNesting } from '../../../api/plan/order/nesting.js';
import type { Informer } from '../../../kube/informer.js';
import { planKeyOf } from './retention.js';
import type { RetentionView } from './retention.js';
import type { CachedExecution } from '../types.js';

/** Executions, grouped as retention needs them. */
export interface RetentionIndex extends Pick<RetentionView, 'ofPlan' | 'nestedIn'> {
  /** Keys of all plans that have executions. */
  plans(): string[];
}

/** An index that follows its cache, change by change: thousands may be looked up one after the other. */
export function createRetentionIndex(cache: Pick<Informer<CachedExecution>, 'onChange'>): RetentionIndex {
  const byPlan = createGroups();
  const byParent = createGroups();
  cache.onChange((change) => {
    const before = change.kind === 'gone' ? change.object : change.previous;
    if (before !== undefined) {
      byPlan.remove(planKeyOf(before), before);
      byParent.remove(parentOf(before), before);
    }
    if (change.kind === 'gone') return;
    byPlan.add(planKeyOf(change.object), change.object);
    byParent.add(parentOf(change.object), change.object);
  });
  return { plans: byPlan.keys, ofPlan: byPlan.of, nestedIn: byParent.of };
}

const parentOf = ({ metadata }: CachedExecution): string | undefined =>
  readNesting(metadata.annotations?.[ANNOTATIONS.nestedIn])?.parent.uid;

function createGroups() {
  const groups = new Map<string, Map<string, CachedExecution>>();
  const uidOf = ({ metadata }: CachedExecution): string => metadata.uid ?? '';
  return {
    keys: (): string[] => [...groups.keys()],
    of: (key: string): CachedExecution[] => [...(groups.get(key)?.values() ?? [])],
    add(key: string | undefined, execution: CachedExecution): void {
      if (key === undefined) return;
      const group = groups.get(key) ?? new Map<string, CachedExecution>();
      groups.set(key, group.set(uidOf(execution), execution));
    },
    remove(key: string | undefined, execution: CachedExecution): void {
      if (key === undefined) return;
      const group = groups.get(key);
      group?.delete(uidOf(execution));
      if (group?.size === 0) groups.delete(key);
    },
  };
}
