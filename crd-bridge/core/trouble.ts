/** What keeps the bridge from bringing an object forward, in words for its status. */
import { isGrpcDeadlineError, isGrpcServiceError } from '@temporalio/client';
import { KubeError } from '../../kube/error.js';

/** A stable reason, and a message that contains nothing of an object's content. */
export interface Trouble {
  reason:
    | 'TemporalUnreachable'
    | 'TemporalRefused'
    | 'ApiServerUnavailable'
    | 'ApiServerRefused'
    | 'InternalError';
  message: string;
}

/** Reasons of condition Progressing that end with the next step that succeeds. */
export const TROUBLES: ReadonlySet<string> = new Set<Trouble['reason'] | 'WaitingForTurn' | 'Starting'>([
  'TemporalUnreachable',
  'TemporalRefused',
  'ApiServerUnavailable',
  'ApiServerRefused',
  'InternalError',
  'WaitingForTurn',
  'Starting',
]);

const MAX_MESSAGE = 300;
/** gRPC status codes that say that nobody answered: DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE. */
const UNANSWERED = new Set([4, 8, 10, 13, 14]);

/** Sorts an error by who could mend it. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof KubeError) {
    const isRefused = error.code >= 400 && error.code < 500 && error.code !== 408 && error.code !== 429;
    return {
      reason: isRefused ? 'ApiServerRefused' : 'ApiServerUnavailable',
      message: `the API server ${isRefused ? 'refused a write or a read of the bridge' : 'does not answer the bridge'}: ${cut(error.message)}; it is tried again`,
    };
  }
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const grpc = [error, cause].find((one) => isGrpcServiceError(one) || isGrpcDeadlineError(one));
  if (grpc !== undefined) {
    const { code, details, message } = grpc as { code?: number; details?: string; message: string };
    const isAway = code === undefined || UNANSWERED.has(code);
    return {
      reason: isAway ? 'TemporalUnreachable' : 'TemporalRefused',
      message: `Temporal ${isAway ? 'does not answer' : 'refuses'}: ${cut(details === undefined || details === '' ? message : details)}; it is tried again`,
    };
  }
  const message = error instanceof Error ? error.message : String(error);
  return {
    reason: 'InternalError',
    message: `the bridge could not go on: ${cut(message)}; it is tried again, and its log has the details`,
  };
}

const cut = (text: string): string =>
  text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 1)}…`;
