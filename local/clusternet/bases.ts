import { createHash } from 'node:crypto';
import type { TypedObject } from '../../kube/object.js';
import { names, simulatorAnnotations } from './labels.js';
import type { Rendering } from './render.js';
import { resources, type Base, type ManagedCluster, type Subscription } from './world.js';

const controller = 'clusternet-controller-manager';
/** Longest name of a Subscription that its Bases still carry as a label. */
const maxLabelledName = 57;

/**
 * Bases for a cluster that a Subscription has just been bound to: one, or two where the race of the real controllers is
 * asked for. Their names end in five characters that mean nothing.
 */
export function newBases(subscription: Subscription, cluster: ManagedCluster): TypedObject[] {
  const { name, uid = '', generation = 0 } = subscription.metadata;
  const { namespace = '', annotations } = cluster.metadata;
  const isTwice = annotations?.[simulatorAnnotations.twoBases] !== undefined;
  return (isTwice ? ['one', 'two'] : ['one']).map((turn) => ({
    apiVersion: resources.bases.group,
    kind: 'Base',
    metadata: {
      name: `${name}-${digest([uid, namespace, generation, turn]).slice(0, 5)}`,
      namespace,
      finalizers: [names.finalizer],
      labels: {
        ...originLabels('Subscription', subscription),
        ...(name.length <= maxLabelledName && {
          [names.config.name]: name,
          [names.subscription.name]: name,
        }),
        [names.subscription.namespace]: subscription.metadata.namespace ?? '',
        [names.subscription.uid]: uid,
        ...clusterLabels(cluster),
      },
    },
    spec: { feeds: subscription.spec.feeds ?? [] },
  }));
}

/** The Base of several for one cluster that a change of the Subscription reaches; the others keep what they have. */
export function currentBase(bases: readonly Base[]): Base | undefined {
  const secondOf = ({ metadata }: Base): number => new Date(metadata.creationTimestamp ?? 0).getUTCSeconds();
  return [...bases].sort((a, b) => secondOf(b) - secondOf(a))[0];
}

/** A new Description of a Base. It belongs to the Base, so that it goes when the Base has gone. */
export function newDescription(
  base: Base,
  cluster: ManagedCluster,
  { name, renderedFrom, spec }: { name: string; renderedFrom: string; spec: Omit<Rendering, 'renderedFrom'> },
): TypedObject {
  const { uid = '', labels } = base.metadata;
  return {
    apiVersion: resources.descriptions.group,
    kind: 'Description',
    metadata: {
      name,
      namespace: base.metadata.namespace,
      finalizers: [names.finalizer],
      annotations: { [simulatorAnnotations.renderedFrom]: renderedFrom },
      labels: {
        ...originLabels('Base', base),
        [names.subscription.namespace]: labels?.[names.subscription.namespace] ?? '',
        [names.subscription.uid]: labels?.[names.subscription.uid] ?? '',
        ...clusterLabels(cluster),
      },
      ownerReferences: [
        {
          apiVersion: resources.bases.group,
          kind: 'Base',
          name: base.metadata.name,
          uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec,
  };
}

function originLabels(kind: string, { metadata }: TypedObject): Record<string, string> {
  return {
    [names.createdBy]: controller,
    [names.config.kind]: kind,
    [names.config.namespace]: metadata.namespace ?? '',
    [names.config.uid]: metadata.uid ?? '',
  };
}

function clusterLabels({ metadata, spec }: ManagedCluster): Record<string, string> {
  return { [names.cluster.id]: spec.clusterId, [names.cluster.name]: metadata.name };
}

/** A short name for any content. */
export function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
