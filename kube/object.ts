/** An object of any kind. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: KubeMeta;
  [field: string]: unknown;
}

/** An object that says what it is, as one in a file does. */
export interface TypedObject extends KubeObject {
  apiVersion: string;
  kind: string;
}

/** Metadata of an object. */
export interface KubeMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: {
    apiVersion: string;
    kind: string;
    name: string;
    uid: string;
    controller?: boolean;
    blockOwnerDeletion?: boolean;
  }[];
  managedFields?: ManagedFields[];
}

/** One field manager's share of an object. */
export interface ManagedFields {
  manager?: string;
  operation?: string;
  subresource?: string;
  apiVersion?: string;
  /** When it last wrote, by the clock of the API server. */
  time?: string;
  fieldsV1?: Record<string, unknown>;
}

/** Names an object. */
export interface ObjectKey {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
}

/** `kind namespace/name`, as messages show it. */
export const describeKey = (key: { kind: string; namespace?: string; name: string }): string =>
  `${key.kind} ${key.namespace === undefined ? '' : `${key.namespace}/`}${key.name}`;
