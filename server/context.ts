import type { Logger } from 'pino';
import type { KeyRing } from '../runtime/encryption/key-ring.js';
import type { StateStore } from '../store/state-store.js';
import type { ReviewPerson } from './auth/callers.js';

/** What requests are answered with. */
export interface ServerContext {
  store: StateStore;
  /** Keys of the store, and of tokens. */
  ring: KeyRing;
  reviewPerson: ReviewPerson;
  log: Logger;
}
