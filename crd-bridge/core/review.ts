/** AdmissionReviews of the API server: read from any JSON, answered in one form. */
import { GROUP } from '../../api/core/group.js';
import { isObject } from '../../api/core/json.js';
import { describeProblems, errorsOf } from '../../api/core/problem.js';
import type { Problem } from '../../api/core/problem.js';
import type { Refusal } from '../../api/core/refusal.js';

/** An object under review: its metadata has the right shape, the rest is anyone's guess. */
export interface ReviewedObject {
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    generation?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    generateName?: string;
    finalizers?: string[];
    deletionTimestamp?: string;
  };
  [field: string]: unknown;
}

/** A request for a review. */
export interface ReviewRequest {
  uid: string;
  kind: string;
  operation: string;
  user: string;
  /** Groups of the user. */
  groups?: string[];
  userUid?: string;
  /** Other facts that the API server's authenticators know of the user; authorizers may look at them. */
  userExtra?: Record<string, string[]>;
  namespace: string;
  object?: ReviewedObject;
  oldObject?: ReviewedObject;
}

/** One reason among those for a refusal, as `details.causes` of a Status. */
export interface Cause {
  field: string;
  reason: string;
  message: string;
}

/** What a review answers. */
export type ReviewResponse =
  | { allowed: true; warnings: string[]; patch?: JsonPatch }
  | { allowed: false; code: number; reason: string; message: string; causes: Cause[]; warnings: string[] };

/** Decides about a request that came in at a path of the server; undefined when there is no such path. */
export type Rules = (
  path: string,
  request: ReviewRequest,
) => Promise<ReviewResponse> | ReviewResponse | undefined;

/** Operations of a JSON patch. */
export type JsonPatch = (
  | { op: 'add' | 'replace'; path: string; value: unknown }
  | { op: 'remove'; path: string }
)[];

const MAX_PROBLEMS = 20;
const MAX_MESSAGE = 4000;
const MAX_CAUSE = 1000;
/** The API server may cut longer warnings, and all of them when there are many. */
const MAX_WARNING = 250;
const MAX_WARNINGS = 15;

/**
 * Reads an AdmissionReview.
 *
 * @returns the request, or as text why it cannot be read
 */
export function readReview(value: unknown): ReviewRequest | string {
  if (!isObject(value) || !isObject(value.request)) return 'not an AdmissionReview: it has no request';
  const { uid, kind, operation, userInfo, namespace, object, oldObject } = value.request;
  if (typeof uid !== 'string') return 'request.uid is not text';
  if (!isObject(kind) || typeof kind.kind !== 'string') return 'request.kind.kind is not text';
  if (typeof operation !== 'string') return 'request.operation is not text';
  const user = isObject(userInfo) && typeof userInfo.username === 'string' ? userInfo.username : '';
  const groups =
    isObject(userInfo) && Array.isArray(userInfo.groups)
      ? userInfo.groups.filter((group): group is string => typeof group === 'string')
      : [];
  const userUid = isObject(userInfo) && typeof userInfo.uid === 'string' ? userInfo.uid : undefined;
  const userExtra = isObject(userInfo) ? readExtra(userInfo.extra) : undefined;
  const readObjects = { object: readObject(object), oldObject: readObject(oldObject) };
  for (const [field, result] of Object.entries(readObjects)) {
    if (typeof result === 'string') return `request.${field} ${result}`;
  }
  return {
    uid,
    kind: kind.kind,
    operation,
    user,
    groups,
    ...(userUid !== undefined && { userUid }),
    ...(userExtra !== undefined && { userExtra }),
    namespace: typeof namespace === 'string' ? namespace : '',
    ...(typeof readObjects.object === 'object' && { object: readObjects.object }),
    ...(typeof readObjects.oldObject === 'object' && { oldObject: readObjects.oldObject }),
  };
}

function readExtra(value: unknown): Record<string, string[]> | undefined {
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value).flatMap(([key, texts]): [string, string[]][] =>
    Array.isArray(texts) ? [[key, texts.filter((text): text is string => typeof text === 'string')]] : [],
  );
  return Object.fromEntries(entries);
}

function readObject(value: unknown): ReviewedObject | string | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) return 'is not an object';
  const { metadata = {} } = value;
  if (!isObject(metadata)) return 'has metadata that are not an object';
  for (const field of ['name', 'generateName', 'namespace', 'uid', 'deletionTimestamp'] as const) {
    if (!['string', 'undefined'].includes(typeof metadata[field]))
      return `has a metadata.${field} that is not text`;
  }
  for (const field of ['labels', 'annotations'] as const) {
    if (metadata[field] !== undefined && !isTextMap(metadata[field]))
      return `has metadata.${field} that are not a map of text`;
  }
  const { finalizers } = metadata;
  if (
    finalizers !== undefined &&
    !(Array.isArray(finalizers) && finalizers.every((one) => typeof one === 'string'))
  )
    return 'has metadata.finalizers that are not a list of text';
  return { ...value, metadata: { name: '', ...metadata } };
}

const isTextMap = (value: unknown): boolean =>
  isObject(value) && Object.values(value).every((text) => typeof text === 'string');

/** Refuses an object that has errors, and warns of the rest. */
export function responseTo(problems: readonly Problem[]): ReviewResponse {
  const errors = errorsOf(problems);
  const warnings = warningsOf(problems);
  if (errors.length === 0) return { allowed: true, warnings };
  const shown = errors.slice(0, MAX_PROBLEMS);
  const more = errors.length > shown.length ? `; and ${errors.length - shown.length} more` : '';
  return {
    allowed: false,
    code: 422,
    reason: 'Invalid',
    message: `${clip(describeProblems(shown), MAX_MESSAGE)}${more}`,
    causes: shown.map(({ path, reason, message }) => ({
      field: path,
      reason,
      message: clip(message, MAX_CAUSE),
    })),
    warnings,
  };
}

/** Refuses a request that the state of other objects does not allow. */
export function refusedBy(refusal: Refusal, warnings: string[] = []): ReviewResponse {
  return {
    allowed: false,
    code: 403,
    reason: 'Forbidden',
    message: clip(refusal.message, MAX_MESSAGE),
    causes: [{ field: '', reason: refusal.reason, message: clip(refusal.message, MAX_CAUSE) }],
    warnings,
  };
}

/** Allows a request. */
export const allowed = (warnings: string[] = []): ReviewResponse => ({ allowed: true, warnings });

/** Warnings, each in one short line. */
export function warningsOf(problems: readonly Problem[]): string[] {
  return problems
    .filter((problem) => problem.severity === 'warning')
    .map((problem) => describeProblems([problem]));
}

/** The answer to a review. */
export function answer({ uid, kind, object, oldObject }: ReviewRequest, response: ReviewResponse): object {
  const { warnings } = response;
  const shown = warnings.slice(0, MAX_WARNINGS).map((text) => clip(oneLine(text), MAX_WARNING));
  if (warnings.length > shown.length) shown.push(`and ${warnings.length - shown.length} more warnings`);
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed: response.allowed,
      ...(shown.length > 0 && { warnings: shown }),
      ...(response.allowed
        ? response.patch !== undefined &&
          response.patch.length > 0 && {
            patchType: 'JSONPatch',
            patch: Buffer.from(JSON.stringify(response.patch)).toString('base64'),
          }
        : {
            status: {
              code: response.code,
              reason: response.reason,
              message: response.message,
              // Command lines list the causes one by one under the name of the object.
              details: {
                group: GROUP,
                kind,
                name: (object ?? oldObject)?.metadata.name,
                causes: response.causes,
              },
            },
          }),
    },
  };
}

const clip = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text);

// oxlint-disable-next-line no-control-regex -- headers, which warnings travel in, hold no control characters
const oneLine = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f]+/g, ' ');
