import type { LogEntry } from '../log-sources/entry.js';
import type { Style } from '../../core/render/style.js';
import { oneLine, padTo } from '../../core/render/text.js';

/** One entry in one line: time, source, subject, text. */
export function logLine(entry: LogEntry, style: Style): string {
  const tone = { info: (text: string) => text, warn: style.warn, error: style.bad }[entry.level];
  const time = new Date(entry.time).toISOString();
  return [
    style.dim(time),
    style.dim(padTo(entry.source, 8)),
    padTo(oneLine(entry.subject), 28),
    tone(oneLine(entry.text)),
  ]
    .join('  ')
    .trimEnd();
}
