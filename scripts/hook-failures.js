/** A vitest reporter for `verify.js`: failures of hooks, which the JSON report counts but does not explain. */
import { appendFileSync } from 'node:fs';

export default class HookFailures {
  /** @param {import('vitest/node').TestSuite} suite */
  onTestSuiteResult(suite) {
    const file = process.env.DROVER_HOOK_FAILURES;
    if (file === undefined) return;
    for (const error of suite.errors()) {
      const failure = { file: suite.module.moduleId, test: `${suite.fullName} (a hook)`, why: error.message };
      appendFileSync(file, `${JSON.stringify(failure)}\n`);
    }
  }
}
