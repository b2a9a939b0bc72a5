/** One line of the log of a run. */
export interface LogEntry {
  /** RFC 3339. */
  time: string;
  source: 'status' | 'event' | 'temporal' | 'bridge' | 'worker';
  level: 'info' | 'warn' | 'error';
  /** What it is about: a path such as `drain/switch/tm-drain`, or a name. */
  subject: string;
  text: string;
  /** Identifies it where two sources report the same with different times. */
  key?: string;
}

/** Entries in the order of time; what has the same time keeps its order. */
export function sortEntries(entries: readonly LogEntry[]): LogEntry[] {
  return [...entries].sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

/** Identifies an entry, so that it is printed once. */
export function entryKey({ time, source, subject, text, key }: LogEntry): string {
  return key ?? JSON.stringify([time, source, subject, text]);
}
