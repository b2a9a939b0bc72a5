/** The middle of the values, or the mean of the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/**
 * Nearest rank: the smallest of the values that at least `percent` of a hundred of them do not exceed, so always one
 * that was measured. NaN for none.
 */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.ceil((percent / 100) * sorted.length);
  return sorted[Math.max(rank, 1) - 1] ?? Number.NaN;
}

/** The sum of the values. */
export const sum = (values: Iterable<number>): number =>
  [...values].reduce((total, value) => total + value, 0);

/** How many times as large the first is; undefined where that says nothing. */
export function ratio(value: number, earlier: number): number | undefined {
  return Number.isFinite(value) && Number.isFinite(earlier) && earlier !== 0 ? value / earlier : undefined;
}
