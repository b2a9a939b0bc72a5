import { defineConfig } from 'vitest/config';

/** Integration tests: a real control plane and a real Temporal server, so one file at a time and patient. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'dist/**', 'test/fuzz/**', 'test/big/**'],
    globalSetup: ['test/setup.ts'],
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 300_000,
    passWithNoTests: true,
  },
});
