/** How a request ends that is not carried out. */
import { OPERATION_ERRORS, type OperationErrorReason } from '../../api/terraform/operation.js';
import { BlobMissing, StoreDamaged, StoreUnavailable } from '../../store/backend.js';
import { StoreRefused } from '../../store/refused.js';

/** The request is refused: it had no effect. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly reason: OperationErrorReason;

  constructor(reason: OperationErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What is answered. */
export interface ErrorAnswer {
  status: number;
  reason: string;
  message: string;
  /** Somebody has to look after it: it belongs in the log. */
  isFault: boolean;
}

/** The answer to an error. */
export function answerOf(error: unknown): ErrorAnswer {
  if (error instanceof Refusal) {
    const { reason, message } = error;
    return { status: OPERATION_ERRORS[reason], reason, message, isFault: false };
  }
  if (error instanceof StoreRefused) {
    const { message } = error;
    const reason: OperationErrorReason =
      error.reason === 'UnknownRun' || error.reason === 'UnknownWorkspace'
        ? 'UnknownOperation'
        : error.reason;
    return { status: OPERATION_ERRORS[reason], reason, message, isFault: false };
  }
  if (error instanceof StoreUnavailable)
    return { status: 503, reason: 'Unavailable', message: 'the store is away; try again', isFault: true };
  if (error instanceof StoreDamaged || error instanceof BlobMissing)
    return { status: 500, reason: 'Damaged', message: error.message, isFault: true };
  return {
    status: 500,
    reason: 'Internal',
    message: 'an error of drover-server; its log says more',
    isFault: true,
  };
}
