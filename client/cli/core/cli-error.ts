import { EXIT } from './exit-codes.js';

/** A failure that a person can read and act on: printed without a stack trace. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** What to do about it, one suggestion a line. */
  readonly hints: readonly string[];
  readonly exitCode: number;

  constructor(
    message: string,
    options: { hints?: readonly string[]; exitCode?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.hints = options.hints ?? [];
    this.exitCode = options.exitCode ?? EXIT.error;
  }
}

/** A command line that makes no sense. */
export function usageError(message: string, ...hints: string[]): CliError {
  return new CliError(message, { hints, exitCode: EXIT.usage });
}
