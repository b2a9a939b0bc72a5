/**
 * `npm run fuzz`: puts stories before the admission and the start of the bridge until enough objects were seen; with
 * `--undo`, has sequences of actions undone.
 */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { noCounts, storyProperty } from './properties.js';
import { undoProperty } from './undo/story.js';

const HELP = `Makes objects at random, good and bad, and checks that admission never fails, that what it lets in is valid when
its run starts, and that it lets in all that the data model allows. No server is needed.

  --cases N   objects to be looked at, or sequences to be undone (100000)
  --undo      instead, sequences of actions on one object are carried out in memory and undone to the last byte
  --seed N    what one seed has made, the same seed makes again (by the clock)
  --path P    only the case that a failure has named
`;
/** Stories between two lines of progress; each has a seed of its own. */
const BATCH = 100;

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '100000' },
    seed: { type: 'string' },
    path: { type: 'string' },
    undo: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const cases = Number(values.cases);
const first = Number(values.seed ?? Date.now() % 2 ** 31);
if (!Number.isInteger(cases) || cases < 1 || !Number.isInteger(first)) {
  process.stderr.write(`--cases and --seed are whole numbers\n\n${HELP}`);
  process.exit(2);
}

const began = Date.now();
const work = values.undo ? undoing() : admitting();
let seed = first;
for (; work.seen() < cases; seed += 1) {
  const result = await work.check({
    seed,
    numRuns: BATCH,
    ...(values.path !== undefined && { path: values.path }),
    interruptAfterTimeLimit: 10 * 60_000,
  });
  if (result.failed) {
    const { errorInstance, counterexamplePath } = result;
    const reason =
      errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance);
    const how = `${values.undo ? '--undo ' : ''}--seed ${seed} --cases 1 --path ${counterexamplePath ?? '0'}`;
    process.stdout.write(`FAILED after ${work.seen()} cases\n${reason}\n\nagain: npm run fuzz -- ${how}\n`);
    process.exit(1);
  }
  if (values.path !== undefined) break;
  const seconds = ((Date.now() - began) / 1000).toFixed(0);
  process.stdout.write(`${work.seen()} cases of ${cases} (seed ${seed}): ${work.told()}, ${seconds} s\n`);
}
process.stdout.write(`passed: ${work.seen()} cases (${work.told()}), seeds ${first} to ${seed - 1}\n`);

interface Batch {
  seed: number;
  numRuns: number;
  path?: string;
  interruptAfterTimeLimit: number;
}

interface Work {
  check(
    options: Batch,
  ): Promise<Pick<fc.RunDetails<unknown>, 'failed' | 'errorInstance' | 'counterexamplePath'>>;
  /** Cases so far. */
  seen(): number;
  /** What they were, for a person. */
  told(): string;
}

function admitting(): Work {
  const counts = noCounts();
  return {
    check: (options) => fc.check(storyProperty(counts), options),
    seen: () => counts.objects,
    told: () =>
      `${counts.stories} stories: ${counts.accepted} let in, ${counts.refused} refused, ${counts.runs} runs (${counts.reverts} reverts)`,
  };
}

function undoing(): Work {
  const counts = { stories: 0, steps: 0 };
  return {
    check: (options) => fc.check(undoProperty(counts), options),
    seen: () => counts.stories,
    told: () => `${counts.steps} steps forward and back`,
  };
}
