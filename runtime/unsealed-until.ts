const MAX_MS = 24 * 3_600_000;

/**
 * Reads until when runs that a release without seals has begun may go on: a moment, at most 24 hours ahead, since until
 * then anybody who may start workflows in Temporal can begin runs of their own. A moment in the past changes nothing.
 *
 * @returns the moment, or what is wrong with the text
 */
export function readUnsealedUntil(text: string, now = new Date()): Date | { problem: string } {
  const until = new Date(text);
  const isMoment = /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(until.getTime());
  if (!isMoment) return { problem: `must be a moment such as ${now.toISOString().slice(0, 16)}:00Z` };
  if (until.getTime() - now.getTime() > MAX_MS) return { problem: 'is more than 24 hours ahead' };
  return until;
}
