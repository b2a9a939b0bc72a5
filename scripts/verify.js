/**
 * All checks, in order, each with its own time limit: `npm test`. Plain JavaScript, because it also builds the rest.
 * `npm test -- NAME…` runs only the steps of these names. Ends with a line "N passed, N failed".
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MINUTE = 60_000;
const results = mkdtempSync(join(tmpdir(), 'drover-verify-'));
const vitest = (name, config) => [
  'vitest',
  'run',
  '--config',
  config,
  '--reporter=default',
  '--reporter=json',
  `--outputFile=${join(results, `${name}.json`)}`,
];

const STEPS = [
  { name: 'format', command: ['prettier', '--check', '--log-level', 'warn', '.'], limit: 3 * MINUTE },
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json', '--noEmit'], limit: 5 * MINUTE },
  { name: 'lint', command: ['eslint', '.'], limit: 10 * MINUTE },
  { name: 'build', command: ['npm', 'run', '--silent', 'build'], limit: 5 * MINUTE },
  {
    name: 'generated',
    command: [process.execPath, 'dist/scripts/generate.js', '--check'],
    limit: 2 * MINUTE,
  },
  { name: 'dead-code', command: ['knip'], limit: 3 * MINUTE },
  { name: 'unit', command: vitest('unit', 'vitest.config.ts'), limit: 10 * MINUTE, tests: true },
  {
    name: 'integration',
    command: vitest('integration', 'vitest.integration.config.ts'),
    limit: 60 * MINUTE,
    tests: true,
  },
  { name: 'faults-build', command: ['tsc', '-p', 'tsconfig.faults.json'], limit: 5 * MINUTE },
  {
    name: 'faults',
    command: [
      process.execPath,
      'dist/test/faults/main.js',
      ...['--seed', '1', '--faults', '64', '--journeys', '5', '--seconds', '200', '--pause', '10'],
      ...['--report', join(results, 'faults.json')],
    ],
    limit: 20 * MINUTE,
    tests: true,
  },
];

/** Runs one step with its output on the terminal; resolves to whether it ended well in time. */
function run(step) {
  return new Promise((resolve) => {
    const [program, ...args] = step.command;
    const child = spawn(
      program === process.execPath || program === 'npm' ? program : join('node_modules', '.bin', program),
      args,
      {
        stdio: 'inherit',
      },
    );
    const timer = setTimeout(() => {
      console.error(`step "${step.name}" is not done after ${step.limit / MINUTE} minutes: stopped`);
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), 20_000).unref();
    }, step.limit);
    child.once('error', (error) => {
      clearTimeout(timer);
      console.error(String(error));
      resolve(false);
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });
}

function counts(step) {
  try {
    const report = JSON.parse(readFileSync(join(results, `${step.name}.json`), 'utf8'));
    // A file that cannot be loaded or set up has no failed test, but it is a failure all the same.
    const broken = report.testResults.filter(
      (file) =>
        file.status === 'failed' && !file.assertionResults.some((result) => result.status === 'failed'),
    ).length;
    return { passed: report.numPassedTests, failed: report.numFailedTests + broken };
  } catch {
    return { passed: 0, failed: 1 };
  }
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !STEPS.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`no step "${unknown.join('", "')}"; steps are: ${STEPS.map((step) => step.name).join(', ')}`);
  process.exit(2);
}

const total = { passed: 0, failed: 0 };
const lines = [];
for (const step of STEPS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const begun = Date.now();
  console.log(`\n── ${step.name}`);
  const ok = await run(step);
  const seconds = ((Date.now() - begun) / 1000).toFixed(1);
  const count = step.tests === true ? counts(step) : { passed: ok ? 1 : 0, failed: ok ? 0 : 1 };
  // A runner that fails although every test passed (an unhandled error, say) is a failure.
  if (!ok && count.failed === 0) count.failed = 1;
  total.passed += count.passed;
  total.failed += count.failed;
  lines.push(
    `${ok ? 'ok  ' : 'FAIL'} ${step.name.padEnd(12)} ${seconds.padStart(7)} s  ${step.tests === true ? `${count.passed} tests` : ''}`,
  );
}
rmSync(results, { recursive: true, force: true });

console.log(`\n${lines.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);
