/** `npm run fuzz`: puts stories before the admission and the start of the bridge until enough objects were seen. */
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { noCounts, storyProperty } from './properties.js';

const HELP = `Makes objects at random, good and bad, and checks that admission never fails, that what it lets in is valid when
its run starts, and that it lets in all that the data model allows. No server is needed.

  --cases N   objects to be looked at (100000)
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

const counts = noCounts();
const began = Date.now();
let seed = first;
for (; counts.objects < cases; seed += 1) {
  const result = await fc.check(storyProperty(counts), {
    seed,
    numRuns: BATCH,
    ...(values.path !== undefined && { path: values.path }),
    interruptAfterTimeLimit: 10 * 60_000,
  });
  if (result.failed) {
    const { errorInstance, counterexamplePath } = result;
    const reason =
      errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance);
    process.stdout.write(
      `FAILED after ${counts.objects} cases\n${reason}\n\nagain: npm run fuzz -- --seed ${seed} --cases 1 --path ${counterexamplePath ?? '0'}\n`,
    );
    process.exit(1);
  }
  if (values.path !== undefined) break;
  const seconds = (Date.now() - began) / 1000;
  process.stdout.write(
    `${counts.objects} cases of ${cases} (seed ${seed}): ${counts.accepted} let in, ${counts.refused} refused, ${counts.runs} runs (${counts.reverts} reverts), ${seconds.toFixed(0)} s\n`,
  );
}
process.stdout.write(
  `passed: ${counts.objects} cases in ${counts.stories} stories, seeds ${first} to ${seed - 1}\n`,
);
