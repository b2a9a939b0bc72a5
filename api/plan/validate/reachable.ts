import { dependencies, isGraph } from '../../core/graph.js';
import type { Problem } from '../../core/problem.js';
import type { DRPlanSpec, Stage } from '../types.js';
import { evaluateWhen, whenReferences } from '../when/when.js';
import { warning } from '../../core/fields.js';

/** Evaluations for one plan: each takes a fraction of a millisecond, and admission must answer at once. */
const MAX_EVALUATIONS = 300;
const ENDED_WELL = ['Succeeded', 'Skipped'];

/**
 * Stages whose `when` is false whatever happens before them, such as one that waits for the failure of a stage it
 * depends on: dependents of a failed stage are skipped (S4.8). Reason `UnreachableStage`.
 *
 * Only conditions over phases, runMode and operation are judged; parameters may change with every execution.
 */
export function checkReachable(spec: DRPlanSpec): Problem[] {
  const { stages } = spec;
  const order = orderOf(stages);
  let left = MAX_EVALUATIONS;
  return stages.flatMap((stage, index): Problem[] => {
    if (stage.when === undefined) return [];
    const { params, outputs, phases, dynamic } = whenReferences(stage.when);
    if (params.size > 0 || outputs.size > 0 || dynamic.size > 0 || /\bmode\b/.test(stage.when)) return [];
    const names = [...phases];
    const positions = names.map((name) => stages.findIndex((other) => other.name === name));
    if (positions.some((position) => position === -1 || position === index)) return [];
    const possible = positions.map((position) => phasesSeen(spec, order, index, position));
    const runModes = /\brunMode\b/.test(stage.when) ? ['Planned', 'Emergency', 'Drill'] : ['Planned'];
    for (const runMode of runModes) {
      for (const values of product(possible)) {
        left -= 1;
        if (left < 0) return [];
        const seen = Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
        const result = evaluateWhen(stage.when, {
          params: {},
          outputs: {},
          runMode,
          operation: 'Execute',
          phases: seen,
        });
        if ('error' in result || result.value) return [];
      }
    }
    return [unreachable(index, names, possible)];
  });
}

function unreachable(index: number, names: readonly string[], possible: readonly string[][]): Problem {
  const path = `spec.stages[${index}].when`;
  const seen = names.map((name, at) => `phases["${name}"] can only be ${possible[at]?.join(' or ') ?? ''}`);
  const why =
    seen.length === 0
      ? ''
      : ` when this stage's turn comes ${seen.join(', ')}, as a failure skips what follows;`;
  return warning(
    path,
    'UnreachableStage',
    `is always false:${why} the stage never runs; correct the condition`,
  );
}

/** Positions that have ended before each stage starts. */
function orderOf(stages: readonly Stage[]): { graph: boolean; before: Set<number>[] } {
  const graph = isGraph(stages);
  const edges = dependencies(stages);
  const before = stages.map((_, index) => {
    if (!graph) return new Set(Array.from({ length: index }, (_, position) => position));
    const found = new Set<number>();
    const queue = [...(edges[index] ?? [])];
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      queue.push(...(edges[next] ?? []));
    }
    return found;
  });
  return { graph, before };
}

/** Phases of another stage that a stage may see when its turn comes. */
function phasesSeen(
  spec: DRPlanSpec,
  order: { graph: boolean; before: readonly Set<number>[] },
  index: number,
  other: number,
): string[] {
  const policy = spec.stages[other]?.failurePolicy ?? spec.failurePolicy ?? 'Stop';
  // A person may let the run go on past a failure.
  const survives = policy === 'Continue' || spec.onFailure === 'Pause';
  if (order.before[index]?.has(other) === true) {
    return order.graph || !survives ? ENDED_WELL : [...ENDED_WELL, 'Failed'];
  }
  if (!order.graph || order.before[other]?.has(index) === true) return ['Pending'];
  return ['Pending', 'Running', ...ENDED_WELL, ...(survives ? ['Failed'] : [])];
}

/** All ways to take one value of each list. */
function* product(lists: readonly string[][]): Generator<string[]> {
  const [first, ...rest] = lists;
  if (first === undefined) {
    yield [];
    return;
  }
  for (const value of first) for (const others of product(rest)) yield [value, ...others];
}
