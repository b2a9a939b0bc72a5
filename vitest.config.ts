import { defineConfig } from 'vitest/config';

/** Unit tests: beside their files, fast, no servers. */
export default defineConfig({
  test: {
    include: [
      '{api,runtime,runner,store,server,workflows,activities,worker,client,crd-bridge,kube,local,scripts,examples,bench}/**/*.test.ts',
      'test/fuzz/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**', 'dist/**'],
    // Unit tests share no state, so they can share what they import: half of their time.
    isolate: false,
    // Hundreds of generated cases take seconds where the machine is busy.
    testTimeout: 30_000,
    // A test that expects nothing cannot fail.
    expect: { requireAssertions: true },
  },
});
