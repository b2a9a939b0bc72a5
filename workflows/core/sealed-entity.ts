/**
 * What the seals of an entity cover: the same for whoever seals and whoever verifies. This file knows no keys, and it is
 * no part of workflow code.
 */
import type { Desired, EntityIdentity, Retirement } from './contract-entity.js';

/** What the seal of an identity covers: all that it says. */
export const sealedEntity = ({ seal: _, ...entity }: EntityIdentity): Omit<EntityIdentity, 'seal'> => entity;

/** What the seal of a desired state covers: it is for one object, in whatever epoch. */
export const sealedDesired = (
  { cluster, kind, namespace, name, uid }: Omit<EntityIdentity, 'seal'>,
  { seal: _, ...desired }: Omit<Desired, 'seal'> & { seal?: string },
): unknown => ({ cluster, kind, namespace, name, uid, desired });

/** What the seal of a retirement covers: it is for one object, in whatever epoch. */
export const sealedRetirement = (
  {
    cluster,
    kind,
    namespace,
    name,
    uid,
  }: Pick<EntityIdentity, 'cluster' | 'kind' | 'namespace' | 'name' | 'uid'>,
  { seal: _, ...retire }: Omit<Retirement, 'seal'> & { seal?: string },
): unknown => ({ cluster, kind, namespace, name, uid, retire });
