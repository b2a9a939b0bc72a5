import { layers } from '../../../../api/core/graph.js';

/** What a plan says about a stage's place. */
interface PlacedStage {
  name: string;
  dependsOn?: readonly string[];
}

/**
 * Which stages could run together (S4.4), in one line such as `a + b; c + d`; undefined when none could.
 *
 * @param maxConcurrentStages - the plan's; when given, the line says what it makes of it
 */
export function describeWaves(
  stages: readonly PlacedStage[],
  maxConcurrentStages?: number,
): string | undefined {
  const together = layers(stages).filter((layer) => layer.length > 1);
  if (together.length === 0) return undefined;
  const groups = together.map((layer) => layer.map((index) => stages[index]!.name).join(' + ')).join('; ');
  if (maxConcurrentStages === undefined) return groups;
  const rule =
    maxConcurrentStages === 1
      ? 'maxConcurrentStages is 1, so they run one after the other'
      : `at most ${maxConcurrentStages} at once`;
  return `${groups} (${rule})`;
}
