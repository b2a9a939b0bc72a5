/** Runner and engine killed at each step; duplicates; a server that is away: nothing lost, nothing twice (T16.2). */
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firstAndSlow, noting } from './support/configurations.js';
import { createRig, exists, gone, kill, until, verdictOf, type PlanCache, type Rig } from './support/rig.js';

let rig: Rig;
const plans: PlanCache = new Map();
beforeEach(async () => {
  rig = await createRig(plans);
});
afterEach(() => rig.close());

const inState = async (): Promise<string[]> => (await rig.stateResources()).map(({ name }) => name);

describe('the runner of an apply is killed [T16.2] [T7.4]', () => {
  it.each(['GET state', 'POST begin'])('at %s: it had not begun, and is revoked', async (request) => {
    const apply = await rig.planned({ files: noting('first') });
    const struck = rig.killAt(apply, request, 'before');
    const pid = await apply.start();
    await struck;
    await gone(pid);
    rig.heal();
    expect(await apply.salvage()).toEqual({ kind: 'revoked' });
    expect((await apply.record()).state).toBe('revoked');
    expect(await rig.happened('created')).toEqual([]);
  });

  it('after begin was heard: begun, the engine was not started, so nothing was done [T8.7]', async () => {
    const apply = await rig.planned({ files: noting('first') });
    const struck = rig.killAt(apply, 'POST begin', 'after');
    const pid = await apply.start();
    await struck;
    await gone(pid);
    rig.heal();
    expect(await apply.salvage()).toMatchObject({
      kind: 'over',
      record: { state: 'lost', proof: { kind: 'noProcess' } },
    });
    expect(verdictOf(await apply.result())).toMatchObject({
      phase: 'failed',
      reason: 'NotStarted',
      hasNoEffect: true,
    });
    expect(await rig.happened('created')).toEqual([]);
  });

  it('while the engine works: that goes on, its state is brought home, and the outcome is unknown [T8.6] [T8.7]', async () => {
    const apply = await rig.planned({ files: firstAndSlow(2) });
    const pid = await apply.start();
    await until('the slow one', async () => (await rig.happened('created')).includes('slow'));
    const engine = await apply.engine();
    kill(pid, 'SIGKILL');
    await gone(pid);
    const end = await apply.salvage();
    await gone(engine);
    expect(end).toMatchObject({ kind: 'over', record: { state: 'lost' } });
    const result = await apply.result();
    expect(verdictOf(result)).toMatchObject({ phase: 'apply_unknown', reason: 'RunnerLost' });
    expect(await rig.happened('done')).toEqual(['first', 'slow']);
    expect(await inState()).toEqual(['first', 'slow']);
    expect(result.inDoubt).toEqual([]);
    expect(await apply.log()).toBe(await readFile(apply.paths.out, 'utf8'));
  });

  it('and its engine is killed too: the first one is saved, the slow one named as in doubt [T8.9]', async () => {
    const apply = await rig.planned({ files: firstAndSlow(30) });
    const pid = await apply.start();
    await until('the slow one', async () => (await rig.happened('created')).includes('slow'));
    const engine = await apply.engine();
    kill(pid, 'SIGKILL');
    kill(engine, 'SIGKILL');
    await gone(pid);
    await apply.salvage();
    const result = await apply.result();
    expect(verdictOf(result)).toMatchObject({ phase: 'apply_unknown', reason: 'RunnerLost' });
    expect(await inState()).toEqual(['first']);
    expect(result.inDoubt).toEqual([{ address: 'terraform_data.slow', action: 'create', why: 'noEnd' }]);
  });

  it('and its engine goes on: an interrupt reaches that once [T7.7]', async () => {
    const apply = await rig.planned({ files: firstAndSlow(30) });
    const pid = await apply.start();
    await until('the slow one', async () => (await rig.happened('created')).includes('slow'));
    await apply.engine();
    kill(pid, 'SIGKILL');
    await gone(pid);
    await apply.control({ kind: 'interrupt', order: { by: 'request', reason: 'asked' } });
    await apply.salvage();
    expect((await apply.log()).match(/Interrupt received/g)).toHaveLength(1);
    expect(await inState()).toEqual(['first', 'slow']);
  });

  it.each(['POST state', 'PUT result'])('at %s: the result in the folder counts', async (request) => {
    const apply = await rig.planned({ files: noting('first') });
    const struck = rig.killAt(apply, request, 'before');
    const pid = await apply.start();
    await struck;
    await gone(pid);
    rig.heal();
    // Twice, as after the death of the worker that does it.
    expect(await apply.salvage()).toMatchObject({ kind: 'over', record: { state: 'ended' } });
    expect(await apply.salvage()).toMatchObject({ kind: 'over', record: { state: 'ended' } });
    expect(verdictOf(await apply.result())).toEqual({ phase: 'applied' });
    expect(await inState()).toEqual(['first']);
    expect(await rig.happened('created')).toEqual(['first']);
  });
});

it('the runner of a plan is killed: lost after it began, revoked before, and its engine is ended [T7.4]', async () => {
  const plan = await rig.plan({ files: 'output "o" { value = 1 }\n' });
  const struck = rig.killAt(plan, 'PUT artefact/planFile', 'before');
  const pid = await plan.start();
  await struck;
  await gone(pid);
  rig.heal();
  expect(await plan.salvage()).toMatchObject({ kind: 'over', record: { state: 'lost' } });
  expect(verdictOf(await plan.result())).toMatchObject({ phase: 'lost' });
});

it('of several runners one works, and the others end [T7.3] [T7.4]', async () => {
  const apply = await rig.planned({ files: noting('first', { seconds: 1 }) });
  const pids = await Promise.all([apply.start(), apply.start(), apply.start()]);
  const result = await apply.result();
  expect(verdictOf(result)).toEqual({ phase: 'applied' });
  expect(pids).toContain(result.runner.pid);
  for (const pid of pids) await gone(pid);
  const late = await apply.start();
  await gone(late);
  expect(await rig.happened('created')).toEqual(['first']);
  expect(apply.seen().syncs.every(({ runner }) => runner.pid === result.runner.pid)).toBe(true);
  expect(await apply.salvage()).toMatchObject({ kind: 'over' });
});

it('a folder without a runner, or with one that lives, is not salvaged [T7.5]', async () => {
  const apply = await rig.planned({ files: noting('first', { seconds: 1 }) });
  await apply.prepare();
  expect(await apply.salvage()).toEqual({ kind: 'free' });
  await apply.start();
  await until('the lock', () => exists(apply.paths.lock));
  expect(await apply.salvage()).toEqual({ kind: 'running' });
  expect(verdictOf(await apply.result())).toEqual({ phase: 'applied' });
});

it('without a server the engine goes on, and all is brought when that is back [T7.3]', async () => {
  const apply = await rig.planned({ files: firstAndSlow(1) });
  await apply.start();
  await until('the engine', async () => (await rig.happened('created')).length > 0);
  rig.proxy.meddle = () => Promise.resolve('cut');
  await until('the end of the engine', async () => (await rig.happened('done')).includes('slow'));
  await until('the result in the folder', () => exists(apply.paths.result));
  expect(await rig.state()).toBeUndefined();
  rig.heal();
  expect(verdictOf(await apply.result())).toEqual({ phase: 'applied' });
  expect(await inState()).toEqual(['first', 'slow']);
  expect(await apply.log()).toBe(await readFile(apply.paths.out, 'utf8'));
});

it('a server that is away for too long ends the runner, and leaves the folder as it is [T7.3]', async () => {
  const apply = await rig.planned({ files: noting('first'), times: { serverAway: 500 } });
  rig.proxy.meddle = ({ what }) =>
    Promise.resolve(what === 'POST state' || what === 'PUT result' ? 503 : undefined);
  const pid = await apply.start();
  await gone(pid);
  expect((await apply.record()).state).toBe('started');
  rig.heal();
  await apply.salvage();
  expect(verdictOf(await apply.result())).toEqual({ phase: 'applied' });
  expect(await inState()).toEqual(['first']);
});

it('requests that are cut or refused for a while change nothing', async () => {
  let count = 0;
  rig.proxy.meddle = () => {
    count += 1;
    return Promise.resolve(count % 3 === 0 ? 'cut' : count % 4 === 0 ? 500 : undefined);
  };
  const apply = await rig.planned({ files: firstAndSlow(1) });
  await apply.start();
  expect(verdictOf(await apply.result())).toEqual({ phase: 'applied' });
  expect(await inState()).toEqual(['first', 'slow']);
  expect(await rig.happened('created')).toEqual(['first', 'slow']);
  expect(await apply.log()).toBe(await readFile(apply.paths.out, 'utf8'));
});
