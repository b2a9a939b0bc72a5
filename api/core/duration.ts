const UNIT_MS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;
const DURATION = /^(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+$/;

/**
 * Milliseconds of a Go-style duration (`90s`, `5m`, `1h30m`, `500ms`), rounded.
 *
 * @returns undefined for anything else
 */
export function parseDuration(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9.]+)(ms|s|m|h)/g)) {
    total += Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
  }
  return Number.isFinite(total) ? Math.round(total) : undefined;
}

/** A duration as Go writes it, to the millisecond below one second and to the second above a minute. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1000) return ms === 0 ? '0s' : `${ms}ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toFixed(1))}s`;
  const seconds = Math.round(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return `${hours > 0 ? `${hours}h` : ''}${minutes}m${seconds % 60}s`;
}
