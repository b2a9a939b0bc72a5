/** Marks by which an action finds again what it made, and tells it from what is not its own (S3.7, S3.9). */
import { ANNOTATIONS, LABELS } from '../../api/core/group.js';
import { labelValue, positionLabel } from '../../api/plan/naming.js';
import type { KubeObject } from '../../kube/object.js';
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

const MARK_LABELS = [LABELS.execution, LABELS.action, LABELS.subscription] as const;
const MARK_ANNOTATIONS = [ANNOTATIONS.key, ANNOTATIONS.cluster, ANNOTATIONS.clusterId] as const;

/** The object without marks of any action, and without maps that become empty by it. */
export function withoutMarks(object: KubeObject): KubeObject {
  const { labels, annotations } = object.metadata;
  return withMaps(object, without(labels, MARK_LABELS), without(annotations, MARK_ANNOTATIONS));
}

/** An object without marks, with those that another one has. */
export function withMarksOf(object: KubeObject, other: KubeObject): KubeObject {
  const { labels, annotations } = object.metadata;
  return withMaps(
    object,
    joined(labels, only(other.metadata.labels, MARK_LABELS)),
    joined(annotations, only(other.metadata.annotations, MARK_ANNOTATIONS)),
  );
}

type Texts = Record<string, string> | undefined;

function withMaps(object: KubeObject, labels: Texts, annotations: Texts): KubeObject {
  const { labels: _l, annotations: _a, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
    },
  };
}

const only = (map: Texts, keys: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => keys.includes(key)));

const joined = (map: Texts, marks: Record<string, string>): Texts =>
  Object.keys(marks).length === 0 ? map : { ...map, ...marks };

/**
 * Whether an object was made or last written by the action that the key belongs to, in any round: a definite failure
 * of one document raises the round, and what the earlier round made is still the action's own.
 */
export function isMarkedBy(object: KubeObject, key: string): boolean {
  const found = object.metadata.annotations?.[ANNOTATIONS.key];
  return found !== undefined && withoutRound(found) === withoutRound(key);
}

const withoutRound = (key: string): string => key.slice(0, key.lastIndexOf('/'));

function without(map: Texts, keys: readonly string[]): Texts {
  if (map === undefined) return undefined;
  const kept = Object.entries(map).filter(([key]) => !keys.includes(key));
  return kept.length === 0 && Object.keys(map).length > 0 ? undefined : Object.fromEntries(kept);
}
