/**
 * Steps between releases after which there is no way back for a run that is under way: an older build cannot carry on
 * what the newer one has begun. The changelog names each by its id, where it says what going back asks for.
 */
import { compareVersions, parseVersion } from '../../../../local/program-version.js';
import type { LiveRun } from './live-runs.js';

/** One step. */
export interface Step {
  /** As the changelog names it. */
  id: string;
  /** First release that has it. */
  since: string;
  /** Whether a run that is under way cannot go back behind it. */
  concerns: (run: LiveRun) => boolean;
  /** What would happen to the run. */
  harm: string;
}

/** Whether a bridge of 0.1.0 or newer has begun a run: those before did not write their version down. */
const isOfRelease = ({ release, isSealed }: LiveRun): boolean => release !== undefined || isSealed;

/** A new step is added at the end, and to the changelog. None is taken away while its release can be gone back behind. */
export const STEPS: readonly Step[] = [
  {
    id: 'seals',
    since: '0.1.0',
    concerns: ({ isSealed }) => isSealed,
    harm: 'an older build does not look at seals: it does what anybody writes into Temporal',
  },
  {
    id: 'queues',
    since: '0.1.0',
    concerns: isOfRelease,
    harm: 'an older build does not take tasks from the queues for waits and urgent work: the run stands still with NoWorker',
  },
  {
    id: 'envelope',
    since: '0.1.0',
    concerns: isOfRelease,
    harm: 'an older bridge does not read updates in envelopes: the status stays as it is, and the end is never written',
  },
  {
    id: 'compression',
    since: '0.1.0',
    // Of an input that is encrypted nobody sees whether it is compressed.
    concerns: ({ inputEncoding }) => inputEncoding !== undefined && inputEncoding !== 'json/plain',
    harm: 'an older worker cannot read an input that is compressed: the run stands still',
  },
];

/** Steps that somebody who goes to a release has to go back behind. */
export function stepsBehind(release: string): Step[] {
  const to = parseVersion(release);
  return STEPS.filter(({ since }) => {
    const at = parseVersion(since);
    return to !== undefined && at !== undefined && compareVersions(at, to) > 0;
  });
}
