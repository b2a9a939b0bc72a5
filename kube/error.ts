/** A `Status` answer of the API server, or the lack of an answer. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  /** HTTP status; 0 when no answer came. */
  readonly code: number;
  /** Machine-readable reason: `NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, `Forbidden`, `Unreachable`, … */
  readonly reason: string;
  /** Milliseconds the server asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** `details` of the Status. */
  readonly details: StatusDetails | undefined;

  constructor(
    message: string,
    options: {
      code: number;
      reason: string;
      retryAfterMs?: number;
      details?: StatusDetails;
      cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.code = options.code;
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details;
  }
}

/** What a Status says about what went wrong. */
export interface StatusDetails {
  kind?: string;
  name?: string;
  uid?: string;
  causes?: { field?: string; message?: string; reason?: string }[];
  retryAfterSeconds?: number;
}

/** Whether trying again may help: no answer, conflict, too many requests, or the server's own fault. */
export function isRetryable(error: unknown): boolean {
  return (
    error instanceof KubeError &&
    (error.code === 0 || error.code === 409 || error.code === 429 || error.code >= 500) &&
    error.reason !== 'AlreadyExists'
  );
}

/**
 * Whether the error says that the object is not there. A server that does not know the path at all has said nothing
 * about the object.
 */
export const isNotFound = (error: unknown): error is KubeError =>
  error instanceof KubeError &&
  error.code === 404 &&
  error.reason !== 'KindNotFound' &&
  error.reason !== 'UnknownPath';

/** Whether the error says that an object of that name is there already. */
export const isAlreadyExists = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.reason === 'AlreadyExists';

/** Whether the error says that a precondition (resourceVersion, uid) or an ownership did not hold. */
export const isConflict = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.code === 409 && error.reason !== 'AlreadyExists';

/** Whether an answer was larger than the caller can take. */
export const isTooLarge = (error: unknown): error is KubeError =>
  error instanceof KubeError && error.reason === 'AnswerTooLarge';
