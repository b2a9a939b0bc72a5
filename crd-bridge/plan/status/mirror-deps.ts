import type { DrDeps } from '../types.js';

/** What mirroring is built from. */
export type MirrorDeps = Pick<
  DrDeps,
  'caches' | 'writer' | 'mutex' | 'events' | 'log' | 'kube' | 'runs' | 'pace'
>;

/** A run sends an update before its start is in status; Temporal tries again in a moment. */
export class NotRecordedError extends Error {
  override readonly name = 'NotRecordedError';
}
