import { defineConfig } from 'vitest/config';

/** More than a machine can do at once: minutes each, on a real control plane and a real Temporal server. Every night. */
export default defineConfig({
  test: {
    include: ['test/big/**/*.test.ts'],
    globalSetup: ['test/setup.ts'],
    setupFiles: ['test/support/whole-stack.ts'],
    fileParallelism: false,
    testTimeout: 90 * 60_000,
    hookTimeout: 30 * 60_000,
    // Figures are told while they come, not when a test has ended.
    disableConsoleIntercept: true,
  },
});
