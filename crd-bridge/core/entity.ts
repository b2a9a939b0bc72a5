/**
 * A kind whose objects are looked after as long as they live. The bridge knows the steps (take over, tell what is wanted,
 * retire, take over anew) and their order; a kind knows what each means for its objects.
 */
import type { Cacheable } from '../../kube/informer.js';
import type { EntityEnd } from '../../workflows/core/contract-entity.js';
import type { TemporalIdentity } from './temporal-identity.js';

/** The workflow that looks after an object, as its status records it. */
export interface RecordedEpoch extends TemporalIdentity {
  epoch: number;
  workflowId: string;
  /** The run that the epoch began with. */
  firstRunId: string;
}

/** What an object says about its workflow. */
export interface EntityView {
  /** The newest epoch that is recorded. */
  recorded?: RecordedEpoch;
  /** Whether it has ended by itself: there is no further epoch. */
  over: boolean;
  deleting: boolean;
  /** Whether the object carries the kind's finalizer. */
  held: boolean;
  /** Generation that the workflow has said it has observed. */
  observed?: number;
  /** Whether a person released it although its workflow cannot be reached. */
  forceRelease: boolean;
}

/** Whether an object may be looked after. */
export type EpochDecision =
  | { kind: 'start' }
  /** Not yet; look again after a time, or when something it depends on changes. */
  | { kind: 'wait'; ms: number }
  /** Not as it is; the kind has written why. */
  | { kind: 'refused' };

/** What the bridge asks of such a kind. */
export interface EntityKind<T extends Cacheable> {
  /** What a person calls one object and several. */
  readonly words: { one: string; several: string };
  readonly workflowType: string;
  /** Task queue of its workflows. */
  readonly taskQueue: string;
  /** What the workflow ids of all its epochs in this cluster begin with: `<system>/<cluster>/`. */
  readonly idPrefix: string;
  /** Held while the object lives. */
  readonly finalizer: string;
  view(object: T): EntityView;
  /** What the workflow is told of the object, with its generation. */
  desired(object: T): { spec: unknown; requestedBy?: string };
  /** Does everything that comes before the start of an epoch. May be repeated after a crash at any point. */
  prepareStart(object: T): Promise<EpochDecision>;
  /** The status with the epoch that now looks after the object. Pure. */
  withEpoch(object: T, recorded: RecordedEpoch): object;
  /** The status with the end of an entity that has ended by itself. Pure; undefined where it shows that already. */
  withEnd(object: T, end: EntityEnd): object | undefined;
  /** Shows what keeps the object from being looked after; the step is retried. Written only where it is news. */
  held(object: T, reason: string, message: string): Promise<void>;
}
