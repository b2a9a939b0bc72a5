/**
 * The finalizer of executions: present while a run may go on, and while a revert needs what its target has kept; never
 * on what is over, so that an installation whose bridge is gone leaves nothing hanging (S5.39).
 */
import { ANNOTATIONS, FINALIZERS, LABELS } from '../../../api/core/group.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { labelValue } from '../../../api/plan/naming.js';
import { isTerminalExecution } from '../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../api/plan/types.js';
import { pause } from '../../core/pause.js';
import type { MetadataFields } from '../../core/status-writer.js';
import { refOf } from '../../core/object-ref.js';
import { checkStays, checkTarget, openRevertsOf } from '../start/revert-target.js';
import type { CachedExecution, DrDeps } from '../types.js';
import { fieldsOf } from '../log-fields.js';

type Deps = Pick<DrDeps, 'writer' | 'caches'>;

/**
 * Takes the finalizer off an execution that has ended, and sets the uid stamp that reveals a copy of it. One write,
 * none where both are as they should be. Leaves alone what a revert still needs: a revert that has just begun may not
 * be in this replica's cache yet, but it has left its uid on the object.
 *
 * @param execution as it was read or written last
 * @param options.after uid of the revert that has ended, if that is why the execution is let go
 * @param options.isForeign its marks are evidence of its origin: only the finalizer is removed
 */
export async function letGo(
  { writer, caches }: Deps,
  execution: CachedExecution,
  { isForeign = false, after }: { isForeign?: boolean; after?: string } = {},
): Promise<void> {
  await writer.metadata(
    caches.executions,
    refOf(execution),
    (current) => {
      if (!isTerminalExecution(current.status?.phase)) return undefined;
      const heldFor = current.metadata.annotations?.[ANNOTATIONS.heldFor];
      if (heldFor !== undefined && heldFor !== after) return undefined;
      if (openRevertsOf(current, caches.executions.list()).length > 0) return undefined;
      return released(current, isForeign);
    },
    { known: execution },
  );
}

function released({ metadata, spec }: CachedExecution, isForeign: boolean): MetadataFields | undefined {
  const finalizers = metadata.finalizers ?? [];
  const kept = finalizers.filter((name) => !isOurs(name));
  if (isForeign) return kept.length === finalizers.length ? undefined : { finalizers: kept };
  const { [ANNOTATIONS.heldFor]: _, ...annotations } = metadata.annotations ?? {};
  return {
    labels: { ...metadata.labels, [LABELS.plan]: labelValue(spec.planRef) },
    // A copy keeps the stamp of its original: what that has done carries its uid (S5.60).
    annotations: {
      ...annotations,
      [ANNOTATIONS.stamp]: annotations[ANNOTATIONS.stamp] ?? metadata.uid ?? '',
    },
    ...(kept.length !== finalizers.length && { finalizers: kept }),
  };
}

const isOurs = (name: string): boolean =>
  name === FINALIZERS.execution || name === FINALIZERS.legacyExecution;

/**
 * Puts the finalizer back on the target of a revert, before the revert takes the plan: what the target has kept must not
 * go while it is needed. Always a write: the end of the target's own run may be about to take the finalizer off, and one of
 * the two writes then finds another resourceVersion and looks again.
 *
 * @returns why the target cannot be held, if it cannot
 */
export async function holdTarget(
  { writer, caches }: Deps,
  revert: DRPlanExecution,
  target: CachedExecution,
): Promise<Refusal | undefined> {
  let going: Refusal | undefined;
  const result = await writer.metadata(
    caches.executions,
    refOf(target),
    (current) => {
      going = checkStays(current);
      const { finalizers = [], annotations } = current.metadata;
      if (going !== undefined) return undefined;
      return {
        annotations: { ...annotations, [ANNOTATIONS.heldFor]: revert.metadata.uid ?? '' },
        ...(!finalizers.includes(FINALIZERS.execution) && {
          finalizers: [...finalizers, FINALIZERS.execution],
        }),
      };
    },
    { known: target },
  );
  return result.kind === 'gone' ? checkTarget(revert, undefined) : going;
}

/** Removes finalizers that a crash, or an earlier release, has left. */
export interface FinalizerSweep {
  /** Sweeps at once and then at intervals until the signal aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** An execution that has just ended is let go by whoever writes its end. */
const FRESH_MS = 5_000;

/** A time in the future comes from another clock, and would stay fresh for as long as that clock is ahead. */
function isFresh(completionTime: string | undefined): boolean {
  const age = Date.now() - Date.parse(completionTime ?? '');
  return age >= 0 && age < FRESH_MS;
}

/**
 * Takes finalizers off executions that are over and that nobody has let go: a bridge was stopped between two writes, or an
 * earlier release left them there.
 *
 * @param options.paceMs least time between two writes
 */
export function createFinalizerSweep(
  deps: Deps & Pick<DrDeps, 'log'>,
  options: { intervalMs: number; paceMs: number; mayAct: () => boolean },
): FinalizerSweep {
  const { caches, log } = deps;

  const isLeft = ({ metadata, status }: CachedExecution): boolean =>
    metadata.finalizers?.includes(FINALIZERS.execution) === true &&
    metadata.deletionTimestamp === undefined &&
    isTerminalExecution(status?.phase) &&
    !isFresh(status?.completionTime);

  // A revert that this cache does not show yet may have just begun: only a finalizer that two sweeps find counts as
  // left over.
  let unheld = new Set<string>();

  async function sweep(signal: AbortSignal): Promise<void> {
    const all = caches.executions.list();
    const open = all.filter(
      ({ spec, status }) => spec.operationType === 'Revert' && !isTerminalExecution(status?.phase),
    );
    const needed = new Set(
      open.map(({ metadata, spec }) => `${metadata.namespace ?? ''}/${spec.revertExecutionRef ?? ''}`),
    );
    const seen = unheld;
    unheld = new Set();
    for (const execution of all.filter(isLeft)) {
      if (signal.aborted) return;
      const { namespace = '', name, uid = '', annotations } = execution.metadata;
      if (needed.has(`${namespace}/${name}`)) continue;
      const after = annotations?.[ANNOTATIONS.heldFor];
      if (after !== undefined && !seen.has(uid)) {
        unheld.add(uid);
        continue;
      }
      try {
        await letGo(deps, execution, { ...(after !== undefined && { after }) });
      } catch (error) {
        log.warn({ ...fieldsOf(execution), err: error }, 'could not let an ended execution go');
      }
      await pause(options.paceMs, signal);
    }
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        if (options.mayAct()) await sweep(signal);
        await pause(options.intervalMs, signal);
      }
    },
  };
}
