import type { Refusal } from '../api/core/refusal.js';

/** Ends an operation before its main step has begun: nothing was changed. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly reason: string;

  constructor({ reason, message }: Refusal) {
    super(message);
    this.reason = reason;
  }
}

/** Passes a value on, and throws a refusal. @throws Refused */
export function orRefused<T extends object>(value: T | Refusal): T {
  if ('reason' in value && 'message' in value) throw new Refused(value);
  return value;
}
