import type { Sealer } from '../../api/core/seal.js';
import type { Workflows } from '../../client/runs/workflows.js';
import type { Cacheable, Informer } from '../../kube/informer.js';
import { refOf } from './object-ref.js';
import type { EntityKind } from './entity.js';
import type { Services } from './services.js';

/** What an entity controller is made of. */
export interface EntityControllerOptions<T extends Cacheable> extends Pick<
  Services,
  'cluster' | 'gate' | 'kube' | 'log' | 'temporal' | 'writer'
> {
  kind: EntityKind<T>;
  cache: Informer<T>;
  workflows: Workflows;
  /** Which Temporal answers now. */
  where: Services['runs']['where'];
  seal: Sealer['seal'];
  verify: Sealer['verify'];
  /** A workflow that has sent nothing for this long is described, in milliseconds. */
  silenceMs: number;
  onStart: () => void;
  now?: () => number;
}

/** What is remembered of an object between reconciles. Losing it costs a call, never a wrong step. */
export interface EntityMemory {
  /** When to describe the workflow next. */
  lookAt: number;
  /** Generation that was signalled and not yet observed. */
  signalled?: number;
  /** Whether the retirement was signalled. */
  retireSent?: true;
  /** Workflow ids after that of the recorded epoch that strangers have taken. */
  passedOver?: number;
  /** Epochs in a row that ended soon after their start. */
  quickEnds: number;
  failingSince?: number;
}

/** What the steps of an entity controller share. */
export interface EntityContext<T extends Cacheable> extends EntityControllerOptions<T> {
  now: () => number;
  memoryOf: (object: T) => EntityMemory;
  forget: (uid: string) => void;
}

/** Time between two looks at an object that is being deleted, in milliseconds. */
export const POLL_WHILE_DELETING_MS = 2_000;

/** Generation of an object's spec. */
export const generationOf = (object: Cacheable): number =>
  (object.metadata as { generation?: number }).generation ?? 1;

/**
 * Puts the kind's finalizer on.
 *
 * @returns false when the object is gone
 */
export async function addFinalizer<T extends Cacheable>(
  { cache, kind, writer }: EntityContext<T>,
  object: T,
): Promise<boolean> {
  const result = await writer.metadata(cache, refOf(object), ({ metadata: { finalizers = [] } }) =>
    finalizers.includes(kind.finalizer) ? undefined : { finalizers: [...finalizers, kind.finalizer] },
  );
  return result.kind !== 'gone';
}

/** Takes the kind's finalizer off. */
export async function dropFinalizer<T extends Cacheable>(
  { cache, kind, writer }: EntityContext<T>,
  object: T,
): Promise<void> {
  await writer.metadata(cache, refOf(object), ({ metadata }) => {
    const finalizers = metadata.finalizers ?? [];
    const kept = finalizers.filter((name) => name !== kind.finalizer);
    return kept.length === finalizers.length ? undefined : { finalizers: kept };
  });
}
