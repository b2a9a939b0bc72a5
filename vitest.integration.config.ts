import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/longest-first.js';

/**
 * Files that run side by side, each on a stack of its own (`test/support/servers.ts`). `npm test` uses more than one; a
 * stack that is not ours cannot be shared.
 */
const stacks =
  process.env.DROVER_TEST_DATA_DIR === undefined ? Number(process.env.DROVER_TEST_STACKS ?? 1) : 1;

/** Integration tests: a real control plane and a real Temporal server. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'dist/**', 'test/fuzz/**', 'test/big/**'],
    globalSetup: ['test/setup.ts'],
    setupFiles: ['test/support/whole-stack.ts'],
    // What a file imports takes two seconds of a processor: the files of a worker share it.
    isolate: false,
    maxWorkers: stacks,
    sequence: { sequencer: LongestFirst },
    // A test that expects nothing cannot fail.
    expect: { requireAssertions: true },
    testTimeout: 180_000,
    hookTimeout: 300_000,
    passWithNoTests: true,
    tags: [
      {
        name: 'nightly',
        description:
          'takes a minute of the processors, or varies what another test shows: not part of npm test',
      },
    ],
  },
});
