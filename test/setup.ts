/**
 * Prepares a run of the integration tests: ends what earlier runs have left, and brings up the first stack, so that a
 * first build of its programs is seen. The other workers bring up theirs when they begin (`support/servers.ts`). With
 * DROVER_TEST_DATA_DIR a stack that runs already is used, and left alone.
 */
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bringUp } from './support/bring-up.js';
import { makeRoot, removeLeftovers, removeRoot } from './support/leftovers.js';

declare module 'vitest' {
  export interface ProvidedContext {
    stacks: {
      /** Folder of this run. */
      root: string;
      /** Of a stack that is not ours. */
      dataDir?: string;
    };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const log = (line: string): void => {
    process.stderr.write(`[setup] ${line}\n`);
  };
  const left = await removeLeftovers();
  if (left > 0) log(`ended what ${left} earlier runs had left`);
  const root = await makeRoot();
  const dataDir = process.env.DROVER_TEST_DATA_DIR;
  project.provide('stacks', { root, ...(dataDir !== undefined && { dataDir }) });
  if (dataDir === undefined) {
    await bringUp(join(root, 'stack-1'), {}, ({ kind, subject, message }) => {
      if (kind !== 'busy') log(`${subject}: ${message}`);
    });
  }
  return () => removeRoot(root);
}
