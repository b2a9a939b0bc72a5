import type { Progress } from '../../../local/index.js';
import { progressLine } from './render/progress-line.js';
import type { Terminal } from './terminal.js';

/** Without a terminal, a long step is reported only this often. */
const BUSY_EVERY_SECONDS = 30;

/** Prints the steps of `up` and `down` to standard error: a line when one begins and ends, and now and then between. */
export function printProgress(terminal: Terminal): Progress {
  return (event) => {
    if (event.kind === 'busy' && event.elapsedSeconds % BUSY_EVERY_SECONDS !== 0) return;
    terminal.note(progressLine(event, terminal.noteStyle));
  };
}
