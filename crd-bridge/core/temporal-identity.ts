import type { TemporalIdentity } from '../../client/runs/temporal-identity.js';

export type { TemporalIdentity } from '../../client/runs/temporal-identity.js';

/**
 * Whether a run that was recorded with these ids is in another Temporal than the connected one. If so, it means nothing
 * that the connected one does not know the run (S5.15).
 */
export function isElsewhere(recorded: TemporalIdentity | undefined, connected: TemporalIdentity): boolean {
  return (
    differs(recorded?.clusterId, connected.clusterId) || differs(recorded?.namespaceId, connected.namespaceId)
  );
}

const differs = (recorded: string | undefined, connected: string | undefined): boolean =>
  (recorded ?? '') !== '' && (connected ?? '') !== '' && recorded !== connected;
