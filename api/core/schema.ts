import { z } from 'zod';

/** A Go-style duration such as `90s`, `5m`, `1h30m`, `500ms`. */
export const DURATION = /^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/;

/** Marks a subtree that the API server stores as it is; the bridge checks it. */
export const PRESERVE = { 'x-kubernetes-preserve-unknown-fields': true } as const;

/** One CEL rule of a CRD schema. */
export interface CelRule {
  rule: string;
  message: string;
}

/** Attaches CEL rules to a schema (they become `x-kubernetes-validations`). */
export const cel = (...rules: CelRule[]): { 'x-kubernetes-validations': CelRule[] } => ({
  'x-kubernetes-validations': rules,
});

/** A Go-style duration. */
export const duration = (text: string) =>
  z.string().regex(DURATION, 'must be a duration such as 30s, 5m or 1h30m').max(32).describe(text);

export const objectReferenceSchema = z
  .object({
    apiVersion: z.string().optional().describe('API version of the object.'),
    kind: z.string().optional().describe('Kind of the object.'),
    name: z.string().min(1).max(253).describe('Name of the object.'),
    namespace: z.string().max(253).optional().describe('Namespace of the object.'),
    uid: z.string().optional().describe('Uid of the object.'),
  })
  .describe('A reference to an object.');
/** A reference to an object. */
export type ObjectReference = z.infer<typeof objectReferenceSchema>;

export const conditionSchema = z
  .object({
    type: z.string().describe('Type of the condition in CamelCase.'),
    status: z.enum(['True', 'False', 'Unknown']).describe('True, False or Unknown.'),
    observedGeneration: z.int().optional().describe('Generation of the spec that the condition speaks of.'),
    lastTransitionTime: z.iso.datetime({ offset: true }).describe('When the status last changed.'),
    reason: z.string().describe('Stable CamelCase reason.'),
    message: z.string().max(32768).describe('Explanation for a person.'),
  })
  .describe('A condition, as in the Kubernetes API conventions.');
/** A status condition (Kubernetes API conventions). */
export type Condition = z.infer<typeof conditionSchema>;

/** List of conditions, keyed by type. */
export const conditionsSchema = z
  .array(conditionSchema)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
  .describe('Conditions of the object.');

/** A moment, RFC 3339. */
export const time = (text: string) => z.iso.datetime({ offset: true }).optional().describe(text);

/** What Kubernetes keeps about every object; only what Drover reads. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[];
  managedFields?: unknown[];
}

/** An object of the Kubernetes API with a spec and a status. */
export interface KubernetesObject<Spec, Status> {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: Spec;
  status?: Status;
}
