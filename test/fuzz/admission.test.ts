/** A part of what `npm run fuzz` looks at, in memory; test/admission/fuzz.test.ts has a sample on the real API server. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { noCounts, storyProperty } from './properties.js';

const CASES = 2000;

it(
  `${CASES} objects: none brings admission down, none that is let in is wrong at its start, none that is allowed is refused`,
  {
    timeout: 600_000,
  },
  async () => {
    const counts = noCounts();
    for (let seed = 20; counts.objects < CASES; seed += 1) {
      await fc.assert(storyProperty(counts), { seed, numRuns: 50 });
    }
    // All of it happens often enough for this to say something.
    expect(counts.accepted).toBeGreaterThan(CASES / 3);
    expect(counts.refused).toBeGreaterThan(CASES / 10);
    expect(counts.runs).toBeGreaterThan(CASES / 10);
    expect(counts.reverts).toBeGreaterThan(CASES / 40);
  },
);
