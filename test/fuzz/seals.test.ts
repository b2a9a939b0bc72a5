/** Whatever somebody makes of sealed tasks: what is vouched for in the end is a task that was given. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalJson } from '../../api/core/json.js';
import { checkAction, checkTask } from '../../workflows/plan/sealed.js';
import { ownSealer } from '../../activities/core/testing/own-sealer.js';
import { tasksOf, twoRuns } from './seals.js';
import type { Asked, Drawn } from './seals.js';

const CASES = 2000;
const sealer = ownSealer();
const stranger = ownSealer();

/** What seals cover of a task: not its times and retries, nor what actions hand on to each other. */
function coveredOf({ task, caller }: Asked): string {
  const { run, at, direction, name, type, body, forward, outputs, clusterId } = task;
  // Each of a run's workflows may ask for what is to be done about its stage: hooks of a rollback go forward.
  const own = [run.workflowId, `${run.workflowId}/s${at.stage}`, `${run.workflowId}/r${at.stage}`];
  const step = run.operation === 'Revert' && { forward, outputs };
  return canonicalJson({
    run,
    at,
    direction,
    name,
    type,
    body,
    caller: own.includes(caller) ? 'the run' : caller,
    ...step,
    ...(at.cluster && { clusterId }),
  });
}

/** What an undo inside a run goes by, thing by thing; an undo that knows less looks for what carries the run's marks. */
function tracesOf({ task: { run, at, direction, forward } }: Asked): string[] {
  if (run.operation === 'Revert' || direction === 'forward') return [];
  const { created = [], jobRef, priorRef } = forward?.outputs ?? {};
  const place = [run.uid, at];
  return [...created, ...(jobRef ? [jobRef] : []), ...(priorRef ? [priorRef] : [])].map((one) =>
    canonicalJson([place, one]),
  );
}

/** As a worker asks; what is not sent along it finds in the snapshots of these runs. */
async function isVouched({ task, caller }: Asked, runs: readonly Drawn[]): Promise<boolean> {
  if ((await checkTask(task, caller, sealer.verify)).kind !== 'vouched') return false;
  const { stage, workflow, action } = task.at;
  const isThere = stage === 0 && workflow === 0;
  const snapshot = runs.find(({ uid }) => uid === task.run.uid);
  const body = task.body ?? (isThere ? snapshot?.actions[action]?.body : undefined);
  return body !== undefined && checkAction(task, body).kind === 'vouched';
}

type Leaf = { holder: Record<string, unknown>; key: string };

/** All places of a value that hold something, also those that hold something whole. */
function leavesOf(value: unknown): Leaf[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...leavesOf(holder[key])]);
}

const copyOf = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const change = fc.oneof(
  fc.record({
    kind: fc.constant('set' as const),
    to: fc.constantFrom('rich', 'uid-2', 1, true, null, {}, []),
  }),
  fc.record({ kind: fc.constant('drop' as const) }),
  fc.record({ kind: fc.constant('from' as const), leaf: fc.nat() }),
);

it(
  `[F17] ${CASES} forgeries of tasks: nothing is vouched for that was not given [S6.20]`,
  { timeout: 120_000 },
  async () => {
    const seen = { vouched: 0, refused: 0, given: 0 };
    await fc.assert(
      fc.asyncProperty(
        twoRuns,
        fc.array(fc.tuple(fc.nat(), change), { minLength: 1, maxLength: 3 }),
        fc.nat(),
        fc.nat(),
        async ([one, other], changes, pick, from) => {
          // What a stranger seals is worth nothing, whatever it says.
          const strange = tasksOf(other, stranger);
          const given = [...tasksOf(one, sealer), ...tasksOf(other, sealer)];
          for (const asked of given) {
            expect(await isVouched(asked, [one, other])).toBe(true);
            seen.given += 1;
          }
          const all = [...given, ...strange];
          const forged = copyOf(all[pick % all.length] as Asked);
          const source = leavesOf(copyOf(all[from % all.length]));
          for (const [leaf, how] of changes) {
            const leaves = leavesOf(forged);
            const place = leaves[leaf % leaves.length];
            if (place === undefined) continue;
            const { holder, key } = place;
            if (how.kind === 'set') holder[key] = how.to;
            else if (how.kind === 'drop') delete holder[key];
            else {
              // Of another task, the same field.
              const [taken] = source.filter((candidate) => candidate.key === key).slice(how.leaf % 3);
              if (taken !== undefined) holder[key] = taken.holder[taken.key];
            }
          }
          const known = new Set(given.flatMap((asked) => [coveredOf(asked), coveredOf(withoutBody(asked))]));
          // What cannot be read at all ends in an error, which is not vouched for either.
          const vouched = await isVouched(forged, [one, other]).catch(() => false);
          seen[vouched ? 'vouched' : 'refused'] += 1;
          if (!vouched) return;
          expect(known).toContain(coveredOf(forged));
          expect(given.flatMap(tracesOf)).toEqual(expect.arrayContaining(tracesOf(forged)));
        },
      ),
      { numRuns: CASES, seed: 17 },
    );
    // All of it happens often enough for this to say something.
    expect(seen.refused).toBeGreaterThan(CASES / 2);
    expect(seen.vouched).toBeGreaterThan(CASES / 50);
  },
);

function withoutBody({ task, caller }: Asked): Asked {
  const { body: _, ...rest } = task;
  return { task: rest, caller };
}
