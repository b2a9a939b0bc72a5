/** What an operator is told before an upgrade: on the real servers, with the programs that run there. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FoundProgram } from '../../client/cli/plan/upgrade/programs.js';
import type { Judgement, Situation } from '../../client/cli/plan/upgrade/judge.js';
import type { Action } from '../../api/plan/types.js';
import { drover } from '../support/drover.js';
import { actionAt, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await openStack('upgrade-check');
});
afterAll(() => stack.close());

const wait: Action = { name: 'wait', type: 'Wait', wait: { duration: '10m' } };

it('upgrade --check names programs, definitions and runs, and bars the way back while a run is live [S6.25]', async () => {
  await stack.simplePlan('long', [wait]);
  const execution = await stack.execute('long');
  await stack.until(execution, (now) => actionAt(now, 0, 0, 0)?.phase === 'Running');
  const name = `${stack.namespace}/${execution.metadata.name}`;

  const { code, out, err } = await drover('upgrade', '--check', '-o', 'json');
  expect(code, err).toBe(0);
  const found = JSON.parse(out) as Situation & Judgement;
  const version = found.target.version;
  expect(found).toMatchObject({ from: version, direction: 'same', isSafe: true });
  expect(found.definitions.map(({ state }) => state)).toEqual(found.definitions.map(() => 'same'));
  const seen = (program: FoundProgram['program']) => found.programs.find((one) => one.program === program);
  expect(seen('bridge')).toMatchObject({ where: 'Temporal', version, build: version });
  // The command line knows what a worker of its own release calls its build.
  expect(seen('worker')).toMatchObject({
    where: 'Temporal',
    version,
    build: found.target.build,
    isPinning: false,
  });
  expect(found.runs.find((run) => `${run.namespace}/${run.name}` === name)).toMatchObject({
    phase: 'Running',
    isSealed: true,
    release: version,
    inputEncoding: 'json/plain',
    build: { buildId: found.target.build, isPinned: false },
  });

  const back = await drover('upgrade', '--check', '--to', '0.0.9');
  expect(back.code, back.err).toBe(1);
  expect(back.out).toMatch(/PROGRAM[^]*DEFINITION[^]*RUNS OF BUILD/);
  expect(back.out.trimEnd().split('\n').at(-1)).toMatch(/^not now: step "seals" of 0\.1\.0.*let them end/);

  expect((await drover('cancel', execution.metadata.name, '-n', stack.namespace, '--yes')).code).toBe(0);
  await stack.ended(execution);
  const after = await drover('upgrade', '--check', '--to', '0.0.9', '-o', 'json');
  const left = (JSON.parse(after.out) as Situation & Judgement).obstacles.flatMap(({ runs }) => runs);
  expect(left).not.toContain(name);
});
