/** One thing looked at. */
export interface Finding {
  subject: string;
  /** `ok`; `warning`: works, but slower or not all; `problem`: `up` will not work as things are. */
  level: 'ok' | 'warning' | 'problem';
  /** What was found. */
  message: string;
  /** What to do about it; present unless `ok`. */
  advice?: string;
}
