/** Payloads stay well below the server's limit of 2 MiB. */
const MAX_BATCH_CHARACTERS = 700_000;

/** Parts of a run whose last word is not yet known to be in status; of one part the latest word counts. */
export interface Outbox<Update extends { index: number }> {
  put: (update: Update) => void;
  /** The next payload of a step: what was never sent, as much as fits. It stays here until it is acknowledged. */
  take: () => Update[];
  /** What `take` gave is in status. */
  acknowledge: (batch: readonly Update[]) => void;
  /** Whether something was never sent. */
  hasUnsent: () => boolean;
  /** Everything that is not acknowledged: a step under way may be dropped once the terminal status is there. */
  rest: () => Update[];
  /** Whether the rest is too large for one payload. */
  isTooLarge: () => boolean;
}

/** An empty outbox. */
export function createOutbox<Update extends { index: number }>(): Outbox<Update> {
  const waiting = new Map<number, { update: Update; sent: boolean }>();
  const rest = (): Update[] => [...waiting.values()].map((entry) => entry.update);
  return {
    put: (update) => {
      waiting.set(update.index, { update, sent: false });
    },
    take: () => {
      const batch: Update[] = [];
      let size = 0;
      for (const entry of waiting.values()) {
        if (entry.sent) continue;
        size += JSON.stringify(entry.update).length;
        if (batch.length > 0 && size > MAX_BATCH_CHARACTERS) break;
        entry.sent = true;
        batch.push(entry.update);
      }
      return batch;
    },
    acknowledge: (batch) => {
      for (const update of batch)
        if (waiting.get(update.index)?.update === update) waiting.delete(update.index);
    },
    hasUnsent: () => [...waiting.values()].some((entry) => !entry.sent),
    rest,
    isTooLarge: () => waiting.size > 1 && JSON.stringify(rest()).length > MAX_BATCH_CHARACTERS,
  };
}
