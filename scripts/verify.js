/**
 * All checks, in order, each with its own time limit: `npm test`. Plain JavaScript, because it also builds the rest.
 * `npm test -- NAME…` runs only the steps of these names; `npm test -- --changed [COMMIT]` looks at the files that differ
 * from a commit (HEAD) and runs the unit tests that these reach. Ends with the tests that failed, by name, and a line
 * "N passed, N failed".
 *
 * An integration test that fails gets one second try, its file alone on a fresh stack: real servers on a busy machine
 * miss a time limit now and then. One that then passes is counted as passed and named as unsteady, so that it is seen
 * and mended.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const MINUTE = 60_000;
/** With more failed files than this something is broken, and a second try only takes time. */
const SECOND_TRIES = 4;
const results = mkdtempSync(join(tmpdir(), 'drover-verify-'));
const hookFailures = join(results, 'hook-failures.jsonl');
const vitest = (name, config) => [
  'vitest',
  'run',
  '--config',
  config,
  '--reporter=default',
  '--reporter=json',
  '--reporter=./scripts/hook-failures.js',
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
    again: (files) => [
      ...vitest('integration-again', 'vitest.integration.config.ts'),
      ...files.map((file) => relative(process.cwd(), file)),
    ],
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

/** The inner loop: what a change of some files can have broken, without servers. */
function stepsForChanges(commit) {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n');
  const files = [
    ...new Set([...git('diff', '--name-only', commit), ...git('ls-files', '--others', '--exclude-standard')]),
  ].filter((file) => file !== '' && existsSync(file));
  const code = files.filter((file) => /\.[jt]s$/.test(file));
  const stepOf = (wanted) => STEPS.find(({ name }) => name === wanted);
  return [
    ...(files.length > 0
      ? [
          {
            name: 'format',
            command: ['prettier', '--check', '--log-level', 'warn', '--ignore-unknown', ...files],
            limit: MINUTE,
          },
        ]
      : []),
    stepOf('types'),
    ...(code.length > 0 ? [{ name: 'lint', command: ['eslint', ...code], limit: 10 * MINUTE }] : []),
    {
      ...stepOf('unit'),
      command: [...vitest('unit', 'vitest.config.ts'), '--changed', commit, '--passWithNoTests'],
    },
  ];
}

/** Runs one command with its output on the terminal; resolves to whether it ended well in time. */
function run({ name, command: [program, ...args], limit }) {
  writeFileSync(hookFailures, '');
  return new Promise((resolve) => {
    const child = spawn(
      program === process.execPath || program === 'npm' ? program : join('node_modules', '.bin', program),
      args,
      {
        stdio: 'inherit',
        env: { ...process.env, DROVER_HOOK_FAILURES: hookFailures },
      },
    );
    const timer = setTimeout(() => {
      console.error(`step "${name}" is not done after ${limit / MINUTE} minutes: stopped`);
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), 20_000).unref();
    }, limit);
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

/** What a runner of tests wrote down: how many passed, and the failed ones with their file and the first line of why. */
function outcome(name) {
  try {
    const hooks = readFileSync(hookFailures, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
      .map(({ why, ...where }) => ({ ...where, why: firstLine(why) }));
    const report = JSON.parse(readFileSync(join(results, `${name}.json`), 'utf8'));
    const failures = (report.testResults ?? []).flatMap((file) => {
      const failed = file.assertionResults.filter((result) => result.status === 'failed');
      const ofHooks = hooks.filter((failure) => failure.file === file.name);
      // A file that cannot be loaded or set up has no failed test, but it is a failure all the same.
      if (failed.length === 0 && ofHooks.length === 0)
        return file.status === 'failed'
          ? [{ file: file.name, test: '(the file)', why: firstLine(file.message) }]
          : [];
      const ofTests = failed.map((result) => ({
        file: file.name,
        test: result.fullName,
        why: firstLine(result.failureMessages?.[0]),
      }));
      return [...ofTests, ...ofHooks];
    });
    return {
      passed: report.numPassedTests,
      failed: Math.max(report.numFailedTests, failures.length),
      failures,
    };
  } catch {
    return { passed: 0, failed: 1, failures: [] };
  }
}

const firstLine = (text) => (text ?? '').split('\n', 1)[0].slice(0, 300);
const told = ({ file, test, why }) => `${relative(process.cwd(), file)} > ${test}\n       ${why}`;

/** One step and, where it may have one, the second try of its failed files; resolves to what is to be counted and told. */
async function verify(step) {
  const ok = await run(step);
  if (step.tests !== true) return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, lines: [] };
  const first = outcome(step.name);
  // A runner that fails although every test passed (an unhandled error, say) is a failure.
  if (!ok && first.failed === 0) first.failed = 1;
  const files = [...new Set(first.failures.map(({ file }) => file))];
  if (step.again === undefined || files.length === 0 || files.length > SECOND_TRIES)
    return { ...first, lines: first.failures.map((failure) => `FAIL ${told(failure)}`) };

  console.log(`\n── ${step.name}, second try of ${files.length} file${files.length === 1 ? '' : 's'}`);
  const againOk = await run({ ...step, command: step.again(files) });
  const second = outcome(`${step.name}-again`);
  if (!againOk && second.failed === 0) second.failed = 1;
  const still = new Set(second.failures.map(({ test }) => test));
  const unsteady = first.failures.filter(({ test }) => !still.has(test));
  return {
    passed: first.passed + (second.failed === 0 ? first.failed : 0),
    failed: second.failed,
    lines: [
      ...second.failures.map((failure) => `FAIL ${told(failure)}`),
      ...unsteady.map((failure) => `unsteady: passed at the second try: ${told(failure)}`),
    ],
  };
}

const [first, commit = 'HEAD', ...rest] = process.argv.slice(2);
const isChanged = first === '--changed';
const wanted = isChanged ? rest : process.argv.slice(2);
const unknown = wanted.filter((name) => isChanged || !STEPS.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`no step "${unknown.join('", "')}"; steps are: ${STEPS.map((step) => step.name).join(', ')}`);
  process.exit(2);
}

const total = { passed: 0, failed: 0 };
const lines = [];
const findings = [];
const steps = isChanged ? stepsForChanges(commit) : STEPS;
for (const step of steps.filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const begun = Date.now();
  console.log(`\n── ${step.name}`);
  const result = await verify(step);
  const seconds = ((Date.now() - begun) / 1000).toFixed(1);
  total.passed += result.passed;
  total.failed += result.failed;
  findings.push(...result.lines);
  lines.push(
    `${result.failed === 0 ? 'ok  ' : 'FAIL'} ${step.name.padEnd(12)} ${seconds.padStart(7)} s  ${step.tests === true ? `${result.passed} tests` : ''}`,
  );
}
rmSync(results, { recursive: true, force: true });

console.log(`\n${lines.join('\n')}\n`);
if (findings.length > 0) console.log(`${findings.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);
