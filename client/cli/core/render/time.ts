import { formatDuration } from '../../../../api/core/duration.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago, roughly, as `kubectl get` writes it: `45s`, `12m`, `3h20m`, `5d`. Empty for no time. */
export function age(time: string | undefined, now: number): string {
  const then = Date.parse(time ?? '');
  if (Number.isNaN(then)) return '';
  const ms = Math.max(0, now - then);
  if (ms < 2 * MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < 2 * HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < DAY) {
    const minutes = Math.floor((ms % HOUR) / MINUTE);
    return `${Math.floor(ms / HOUR)}h${minutes === 0 ? '' : `${minutes}m`}`;
  }
  return `${Math.floor(ms / DAY)}d`;
}

/** Time from start to end, or to now while there is no end. Empty when it has not started. */
export function elapsed(item: { startTime?: string; completionTime?: string }, now: number): string {
  const start = Date.parse(item.startTime ?? '');
  if (Number.isNaN(start)) return '';
  const end = Date.parse(item.completionTime ?? '');
  // What still runs is shown in whole seconds: tenths would only flicker.
  if (Number.isNaN(end)) return formatDuration(Math.floor(Math.max(0, now - start) / SECOND) * SECOND);
  return formatDuration(Math.max(0, end - start));
}
