/**
 * All checks, each with its own time limit: `npm test`. Plain JavaScript, because it also builds the rest.
 *
 *     npm test                          everything
 *     npm test -- NAME…                 only the steps of these names
 *     npm test -- --changed [COMMIT]    the files that differ from a commit (HEAD) and the unit tests that they reach
 *     npm test -- --nightly …           with the integration tests that have the tag "nightly"
 *     npm test -- --strict …            a test that passes only at the second try counts as failed, as every night
 *     npm test -- --serial …            one step, and one test file, after the other
 *
 * Ends with the tests that failed, by name, and a line "N passed, N failed".
 *
 * An integration test that fails gets one second try, its file alone on a fresh stack: real servers on a busy machine
 * miss a time limit now and then. One that then passes is named as unsteady, so that it is seen and mended.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join, relative } from 'node:path';

const words = process.argv.slice(2);
const takeFlag = (flag) => words.includes(flag) && words.splice(words.indexOf(flag), 1).length > 0;
const nightly = takeFlag('--nightly');

const MINUTE = 60_000;
/** Memory of a stack with the tests that run on it, in bytes. */
const STACK_BYTES = 3 * 1024 ** 3;
/** Tests wait more than they calculate, so there is one more stack than there are processors. */
const STACKS =
  process.env.DROVER_TEST_STACKS ??
  String(Math.max(1, Math.min(availableParallelism() + 1, Math.floor(totalmem() / STACK_BYTES))));
/** With more failed files than this something is broken, and a second try only takes time. */
const SECOND_TRIES = 4;
const results = mkdtempSync(join(tmpdir(), 'drover-verify-'));
const hookFailuresOf = (name) => join(results, `${name}.hook-failures.jsonl`);
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

/** What may differ from one version of Node to the next: processes, TLS, HTTP, watches, cryptography, replay. */
const SMOKE = [
  'test/actions/job.test.ts',
  'test/admission/approval.test.ts',
  'test/bridge/informer.test.ts',
  'test/e2e/cancel.test.ts',
  'test/e2e/cli.test.ts',
  'test/e2e/run.test.ts',
  'test/field/http.test.ts',
  'test/replay/replay.test.ts',
  'test/security/encryption.test.ts',
];

/** What to do about a file that is not formatted. */
const FORMAT = 'run "npm run format"';

const STEPS = [
  { name: 'format', command: ['oxfmt', '--check'], limit: MINUTE, mend: FORMAT },
  {
    name: 'types',
    command: ['tsc', '-p', 'tsconfig.json', '--noEmit'],
    limit: 5 * MINUTE,
  },
  { name: 'lint', command: ['oxlint'], limit: 5 * MINUTE },
  // The step "types" checks.
  { name: 'build', command: ['npm', 'run', '--silent', 'build:unchecked'], limit: 5 * MINUTE },
  {
    name: 'generated',
    command: [process.execPath, 'dist/scripts/generate.js', '--check'],
    limit: 2 * MINUTE,
  },
  { name: 'dead-code', command: ['knip'], limit: 3 * MINUTE },
  { name: 'unit', command: vitest('unit', 'vitest.config.ts'), limit: 10 * MINUTE, tests: true },
  {
    name: 'integration',
    command: [
      ...vitest('integration', 'vitest.integration.config.ts'),
      ...(nightly ? [] : ['--tags-filter', '!nightly']),
    ],
    limit: 60 * MINUTE,
    tests: true,
    env: { DROVER_TEST_STACKS: STACKS },
    again: (files) => [
      ...vitest('integration-again', 'vitest.integration.config.ts'),
      ...files.map((file) => relative(process.cwd(), file)),
    ],
  },
  {
    name: 'smoke',
    command: [...vitest('smoke', 'vitest.integration.config.ts'), ...SMOKE],
    limit: 20 * MINUTE,
    tests: true,
    env: { DROVER_TEST_STACKS: STACKS },
    onlyByName: true,
  },
  {
    name: 'faults-build',
    command: ['tsc', '-p', 'tsconfig.faults.json', '--noCheck'],
    limit: 5 * MINUTE,
  },
  {
    name: 'faults',
    command: [
      process.execPath,
      'dist/test/faults/main.js',
      ...['--seed', '1', '--faults', '40', '--journeys', '5', '--seconds', '120', '--pause', '10'],
      ...['--report', join(results, 'faults.json')],
    ],
    limit: 20 * MINUTE,
    tests: true,
  },
];

/**
 * What runs when: one phase after the other, the lanes of a phase side by side, the steps of a lane in their order. Most
 * checks use one processor; the integration tests use all there are.
 */
const PHASES = [
  [['types'], ['build', 'generated', 'faults-build']],
  [['lint', 'dead-code', 'format', 'unit'], ['faults']],
  [['integration']],
  [['smoke']],
];

/** The inner loop: what a change of some files can have broken, without servers; its lanes. */
function stepsForChanges(commit) {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n');
  const files = [
    ...new Set([...git('diff', '--name-only', commit), ...git('ls-files', '--others', '--exclude-standard')]),
  ].filter((file) => file !== '' && existsSync(file));
  const code = files.filter((file) => /\.[jt]s$/.test(file));
  const stepOf = (wanted) => STEPS.find(({ name }) => name === wanted);
  const format = {
    name: 'format',
    command: ['oxfmt', '--check', '--no-error-on-unmatched-pattern', ...files],
    limit: MINUTE,
    mend: FORMAT,
  };
  const unit = {
    ...stepOf('unit'),
    command: [...vitest('unit', 'vitest.config.ts'), '--changed', commit, '--passWithNoTests'],
  };
  const lint = { name: 'lint', command: ['oxlint', ...code], limit: 5 * MINUTE };
  return [
    [...(files.length > 0 ? [format] : []), stepOf('types')],
    ...(code.length > 0 ? [[lint]] : []),
    [unit],
  ];
}

/**
 * Runs one command; resolves to whether it ended well in time.
 *
 * @param live true: with its output on the terminal; false: its output comes at once when it has ended
 */
function run({ name, command: [program, ...args], limit, env = {} }, live) {
  writeFileSync(hookFailuresOf(name), '');
  return new Promise((resolve) => {
    const child = spawn(
      program === process.execPath || program === 'npm' ? program : join('node_modules', '.bin', program),
      args,
      {
        stdio: live ? 'inherit' : ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...env, DROVER_HOOK_FAILURES: hookFailuresOf(name) },
      },
    );
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk));
    const end = (ok) => {
      clearTimeout(timer);
      process.stdout.write(Buffer.concat(output));
      resolve(ok);
    };
    const timer = setTimeout(() => {
      console.error(`step "${name}" is not done after ${limit / MINUTE} minutes: stopped`);
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), 20_000).unref();
    }, limit);
    child.once('error', (error) => {
      console.error(String(error));
      end(false);
    });
    child.once('close', (code) => end(code === 0));
  });
}

/** What a runner of tests wrote down: how many passed, and the failed ones with their file and the first line of why. */
function outcome(name) {
  try {
    const hooks = readFileSync(hookFailuresOf(name), 'utf8')
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
async function verify(step, { live, strict }) {
  const ok = await run(step, live);
  if (step.tests !== true)
    return {
      passed: ok ? 1 : 0,
      failed: ok ? 0 : 1,
      lines: ok || step.mend === undefined ? [] : [`${step.name}: ${step.mend}`],
    };
  const first = outcome(step.name);
  // A runner that fails although every test passed (an unhandled error, say) is a failure.
  if (!ok && first.failed === 0) first.failed = 1;
  const files = [...new Set(first.failures.map(({ file }) => file))];
  if (step.again === undefined || files.length === 0 || files.length > SECOND_TRIES)
    return { ...first, lines: first.failures.map((failure) => `FAIL ${told(failure)}`) };

  const name = `${step.name}-again`;
  console.log(`\n── ${step.name}, second try of ${files.length} file${files.length === 1 ? '' : 's'}`);
  const again = { ...step, name, command: step.again(files), env: { ...step.env, DROVER_TEST_STACKS: '1' } };
  const againOk = await run(again, live);
  const second = outcome(name);
  if (!againOk && second.failed === 0) second.failed = 1;
  const still = new Set(second.failures.map(({ test }) => test));
  const unsteady = first.failures.filter(({ test }) => !still.has(test));
  const failed = second.failed + (strict ? unsteady.length : 0);
  return {
    passed: first.passed + (failed === 0 ? first.failed : 0),
    failed,
    lines: [
      ...second.failures.map((failure) => `FAIL ${told(failure)}`),
      ...unsteady.map((failure) => `unsteady: passed at the second try: ${told(failure)}`),
    ],
  };
}

const strict = takeFlag('--strict');
const serial = takeFlag('--serial');
const [first, commit = 'HEAD', ...rest] = words;
const isChanged = first === '--changed';
const unknown = isChanged ? rest : words.filter((name) => !STEPS.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`no step "${unknown.join('", "')}"; steps are: ${STEPS.map((step) => step.name).join(', ')}`);
  process.exit(2);
}

const isWanted = ({ name, onlyByName }) => (words.length === 0 ? onlyByName !== true : words.includes(name));
const wholePlan = PHASES.map((lanes) =>
  lanes
    .map((names) => names.map((name) => STEPS.find((step) => step.name === name)).filter(isWanted))
    .filter((lane) => lane.length > 0),
);
const plan = isChanged ? [stepsForChanges(commit)] : wholePlan;
const phases = serial ? plan.flat(2).map((step) => [[step]]) : plan;

const total = { passed: 0, failed: 0 };
const lines = [];
const findings = [];
async function runLane(lane, live) {
  for (const step of lane) {
    const begun = Date.now();
    if (live) console.log(`\n── ${step.name}`);
    const env = { ...step.env, ...(serial && { DROVER_TEST_STACKS: '1' }) };
    const result = await verify({ ...step, env }, { live, strict });
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    total.passed += result.passed;
    total.failed += result.failed;
    findings.push(...result.lines);
    const line = `${result.failed === 0 ? 'ok  ' : 'FAIL'} ${step.name.padEnd(12)} ${seconds.padStart(7)} s  ${step.tests === true ? `${result.passed} tests` : ''}`;
    lines.push(line);
    if (!live) console.log(`── ${line}`);
  }
}
const begun = Date.now();
for (const lanes of phases) await Promise.all(lanes.map((lane) => runLane(lane, lanes.length === 1)));
rmSync(results, { recursive: true, force: true });

console.log(`\n${lines.join('\n')}\n`);
if (findings.length > 0) console.log(`${findings.join('\n')}\n`);
console.log(
  `${total.passed} passed, ${total.failed} failed, in ${Math.round((Date.now() - begun) / 1000)} s`,
);
process.exit(total.failed === 0 ? 0 : 1);
