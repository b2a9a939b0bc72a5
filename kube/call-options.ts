/** What calls of the API are asked for, and how that is written in a request. */
import type { RawRequest } from './transport.js';

/** Options that every call takes. */
export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** What the server does about fields that a kind does not have: refuse them, or drop them with a warning. */
export type FieldValidation = 'Strict' | 'Warn';

/** Options of calls that write. */
export interface WriteOptions extends CallOptions {
  subresource?: 'status' | 'scale';
  fieldManager?: string;
  /** Absent: the server's own default, which is Warn. Servers before 1.25 ignore it. */
  fieldValidation?: FieldValidation | undefined;
  /** Ask the server to do everything but store. */
  dryRun?: boolean;
}

/** Options of a delete. */
export interface DeleteOptions extends CallOptions {
  /** Deletes only the object with this uid. */
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  gracePeriodSeconds?: number;
  dryRun?: boolean;
}

/** What a list is asked for. */
export interface ListOptions extends CallOptions {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  limit?: number;
  continue?: string;
  resourceVersion?: string;
  resourceVersionMatch?: 'NotOlderThan' | 'Exact';
  /** Asks for `metadata` alone: the items have neither spec nor status. */
  metadataOnly?: boolean;
  /** Longest answer that is read, in bytes; a longer one throws `AnswerTooLarge` (default: any). */
  maxBytes?: number;
}

/** How long a call may take, and what ends it early. */
export const callOf = (options: CallOptions | undefined): Pick<RawRequest, 'signal' | 'timeoutMs'> => ({
  ...(options?.signal !== undefined && { signal: options.signal }),
  ...(options?.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
});

/** The query of a write. */
export const writeQuery = (options: WriteOptions | undefined): Record<string, string | undefined> => ({
  fieldManager: options?.fieldManager ?? 'drover',
  fieldValidation: options?.fieldValidation,
  dryRun: options?.dryRun === true ? 'All' : undefined,
});

/** The query of a list or a watch. */
export const selectionQuery = (
  options: ListOptions | undefined,
): Record<string, string | number | undefined> => ({
  labelSelector: options?.labelSelector,
  fieldSelector: options?.fieldSelector,
  limit: options?.limit,
  continue: options?.continue,
  resourceVersion: options?.resourceVersion,
  resourceVersionMatch: options?.resourceVersionMatch,
});

/** The body of a delete. */
export function deleteBody(options: DeleteOptions | undefined): object {
  const preconditions = {
    ...(options?.uid !== undefined && { uid: options.uid }),
    ...(options?.resourceVersion !== undefined && { resourceVersion: options.resourceVersion }),
  };
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    ...(Object.keys(preconditions).length > 0 && { preconditions }),
    ...(options?.propagationPolicy !== undefined && { propagationPolicy: options.propagationPolicy }),
    ...(options?.gracePeriodSeconds !== undefined && { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options?.dryRun === true && { dryRun: ['All'] }),
  };
}

/**
 * Where the objects of a kind are. Built field by field: a whole object given as the type must not turn a list into a get.
 */
export const collectionOf = (
  { apiVersion, kind }: { apiVersion: string; kind: string },
  options: ListOptions | undefined,
): { apiVersion: string; kind: string; namespace?: string } => ({
  apiVersion,
  kind,
  ...(options?.namespace !== undefined && { namespace: options.namespace }),
});
