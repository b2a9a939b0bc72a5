import { relative } from 'node:path';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** Files that take longest, so that none of them is what everybody waits for in the end. */
const LONGEST = [
  'test/house/house.test.ts',
  'test/clusternet/traps.test.ts',
  'test/e2e/crash.test.ts',
  'test/bridge/apart.test.ts',
  'test/local/embedded.test.ts',
  'test/contract/installation.test.ts',
  'test/admission/certificates.test.ts',
  'test/field/standstill.test.ts',
  'test/field/upgrade.test.ts',
  'test/bridge/accident.test.ts',
  'test/contract/order.test.ts',
  'test/workflows/cancel.test.ts',
  'test/clusternet/failover.test.ts',
  'test/contract/reverts.test.ts',
  'test/e2e/run.test.ts',
  'test/field/job-pods.test.ts',
];

/** The longest files first, then those that failed before, then by the time they took, or by size. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST.indexOf(relative(this.ctx.config.root, moduleId));
      return found < 0 ? LONGEST.length : found;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
