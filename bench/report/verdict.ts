import { EXCUSED_FROM } from '../targets.js';
import type { Target } from '../targets.js';
import type { Results, ScenarioResult } from './results.js';

/** How a figure stands to its target. */
export interface Verdict {
  kind: 'met' | 'missed' | 'excused';
  text: string;
}

/** Judges a figure; undefined where no target is set for it, or for this size of it. */
export function judge(
  targets: readonly Target[],
  results: Pick<Results, 'scenarios' | 'peer'>,
  scenario: ScenarioResult,
  figure: { name: string; median: number },
): Verdict | undefined {
  if (results.peer !== 'drover') return undefined;
  const target = targets.find((item) => item.scenario === scenario.scenario && item.figure === figure.name);
  if (target === undefined) return undefined;
  const tooSmall = Object.entries(target.sizes ?? {}).some(
    ([name, size]) => (scenario.sizes[name] ?? 0) < size,
  );
  if (tooSmall) return undefined;
  const { must, stretch } = target;
  const atMost = 'atMost' in must;
  const bound = atMost ? must.atMost : must.atLeast;
  const reaches = (limit: number): boolean => (atMost ? figure.median <= limit : figure.median >= limit);
  const wanted = `${atMost ? '<=' : '>='} ${bound}${stretch === undefined ? '' : ` (${stretch})`}`;
  const share = shareOfFloor(target, results, figure.median);
  const told = share === undefined ? '' : `; an empty run is ${Math.round(share * 100)} % of it`;
  if (reaches(bound)) {
    const both = stretch !== undefined && reaches(stretch) ? 'met, stretch too' : 'met';
    return { kind: 'met', text: `${wanted} ${both}${told}` };
  }
  if (share !== undefined && share >= EXCUSED_FROM)
    return { kind: 'excused', text: `${wanted} missed, excused${told}` };
  return { kind: 'missed', text: `${wanted} missed${told}` };
}

/** How much of a figure an empty run of the same measurement is, from 0 to 1. */
function shareOfFloor(
  target: Target,
  results: Pick<Results, 'scenarios'>,
  value: number,
): number | undefined {
  const floor = results.scenarios
    .find(({ scenario }) => scenario === 'floor')
    ?.figures.find(({ name }) => name === target.floor)?.median;
  if (floor === undefined || value <= 0) return undefined;
  return 'atMost' in target.must ? floor / value : value / floor;
}
