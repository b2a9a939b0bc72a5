import type { Cacheable } from '../../kube/informer.js';

/** The object that a write is meant for. */
export interface ObjectRef {
  namespace: string | undefined;
  name: string;
  /** Nothing is written to another object of the same name. */
  uid: string | undefined;
}

/** What a write to an object is aimed at. */
export const refOf = ({ metadata }: Pick<Cacheable, 'metadata'>): ObjectRef => ({
  name: metadata.name,
  namespace: metadata.namespace,
  uid: metadata.uid,
});

/** Key of an object in queue and table, and its name in logs: `namespace/name`. */
export const keyOf = ({ metadata }: Pick<Cacheable, 'metadata'>): string =>
  `${metadata.namespace ?? ''}/${metadata.name}`;
