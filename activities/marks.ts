/** Marks by which an action finds again what it made, and tells it from what is not its own (plan semantics, §3). */
import { ANNOTATIONS, LABELS } from '../api/group.js';
import { labelValue, positionLabel } from '../api/naming.js';
import type { KubeObject } from '../kube/object.js';
import type { Attempt } from './handler.js';

/** Who an action is, as far as its marks go. */
export type Marker = Pick<Attempt, 'key' | 'member'> & { task: Pick<Attempt['task'], 'run' | 'at'> };

/** A copy of the object that carries the marks of the action. */
export function withMarks(object: KubeObject, marker: Marker): KubeObject {
  const { metadata } = object;
  const { member } = marker;
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: {
        ...metadata.labels,
        [LABELS.execution]: marker.task.run.uid,
        [LABELS.action]: positionLabel(marker.task.at),
        ...(member !== undefined && { [LABELS.subscription]: labelValue(member.subscription) }),
      },
      annotations: {
        ...metadata.annotations,
        [ANNOTATIONS.key]: marker.key,
        ...(member !== undefined && {
          [ANNOTATIONS.cluster]: member.cluster,
          [ANNOTATIONS.clusterId]: member.clusterId,
        }),
      },
    },
  };
}

/** The object without marks of any action, and without maps that become empty by it. */
export function withoutMarks(object: KubeObject): KubeObject {
  const { labels, annotations, ...metadata } = object.metadata;
  const kept = {
    labels: without(labels, [LABELS.execution, LABELS.action, LABELS.subscription]),
    annotations: without(annotations, [ANNOTATIONS.key, ANNOTATIONS.cluster, ANNOTATIONS.clusterId]),
  };
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(kept.labels !== undefined && { labels: kept.labels }),
      ...(kept.annotations !== undefined && { annotations: kept.annotations }),
    },
  };
}

/**
 * Whether an object was made or last written by the action that the key belongs to, in any round: a definite failure
 * of one document raises the round, and what the earlier round made is still the action's own.
 */
export function isMarkedBy(object: KubeObject, key: string): boolean {
  const found = object.metadata.annotations?.[ANNOTATIONS.key];
  return found !== undefined && withoutRound(found) === withoutRound(key);
}

const withoutRound = (key: string): string => key.slice(0, key.lastIndexOf('/'));

function without(
  map: Record<string, string> | undefined,
  keys: readonly string[],
): Record<string, string> | undefined {
  if (map === undefined) return undefined;
  const kept = Object.entries(map).filter(([key]) => !keys.includes(key));
  return kept.length === 0 && Object.keys(map).length > 0 ? undefined : Object.fromEntries(kept);
}
