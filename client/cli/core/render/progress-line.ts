import type { ProgressEvent } from '../../../../local/progress.js';
import type { Style } from './style.js';
import { formatDuration } from '../../../../api/core/duration.js';

const SUBJECT_WIDTH = 18;

/** A step of `up` or `down` in one line. */
export function progressLine(event: ProgressEvent, style: Style): string {
  const subject = event.subject.padEnd(SUBJECT_WIDTH);
  switch (event.kind) {
    case 'step':
      return `${style.sign('Running')} ${subject} ${event.message}`;
    case 'busy':
      return `${style.sign('Running')} ${subject} ${event.message} ${style.dim(`(${formatDuration(event.elapsedSeconds * 1000)})`)}`;
    case 'done':
      return `${style.sign('Succeeded')} ${subject} ${event.message} ${style.dim(`(${formatDuration(event.elapsedSeconds * 1000)})`)}`;
    case 'notice':
      return style.warn(`! ${subject} ${event.message}`);
  }
}
