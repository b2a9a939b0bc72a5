/** The store has looked, and refuses: asking again gives the same answer until something else changes. */
export class StoreRefused extends Error {
  override readonly name = 'StoreRefused';
  /** Stable, CamelCase: those of the operations' protocol. */
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Why the store refuses. */
export type RefusalReason =
  | 'BadRequest'
  | 'Begun'
  | 'Ended'
  | 'Locked'
  | 'NoPermit'
  | 'NotHolder'
  | 'NotStored'
  | 'OtherDigest'
  | 'OtherNonce'
  | 'OtherRunner'
  | 'OtherTurn'
  | 'Revoked'
  | 'StaleState'
  | 'StateRefused'
  | 'UnknownOperation'
  | 'UnknownRun'
  | 'UnknownWorkspace';
