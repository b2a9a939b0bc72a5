/** An apply by the real engine: what each way to end it leaves, and that nothing of it is lost. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firstAndSlow, noting } from './support/configurations.js';
import {
  createRig,
  exists,
  gone,
  kill,
  until,
  verdictOf,
  type Piece,
  type PlanCache,
  type Rig,
} from './support/rig.js';
import { takeSlot } from './support/runs.js';

let rig: Rig;
const plans: PlanCache = new Map();
beforeEach(async () => {
  rig = await createRig(plans);
});
afterEach(() => rig.close());

/** Waits until the slow resource is being made, and the first one is in a stored state. */
async function inTheMiddle(apply: Piece): Promise<void> {
  await until('the slow resource', async () => (await rig.happened('created')).includes('slow'));
  await until('a state with the first one', () => {
    const last = apply.seen().states.at(-1);
    return last?.bytes.includes('"name": "first"');
  });
}

async function applying(seconds = 30): Promise<Piece> {
  const apply = await rig.planned({ files: firstAndSlow(seconds) });
  await apply.start();
  await inTheMiddle(apply);
  return apply;
}

/** Resources of the final state, with their status. */
const inState = async (): Promise<string[]> =>
  (await rig.stateResources()).flatMap(({ name, instances }) =>
    instances.map(({ status }) => `${name} ${status ?? 'whole'}`),
  );

it('an apply ends applied, its state final, its resources told as they moved [T8.7] [T8.3] [T4.4]', async () => {
  const apply = await rig.planned({ files: firstAndSlow(0) });
  await apply.start();
  const result = await apply.result();
  expect(verdictOf(result)).toEqual({ phase: 'applied' });
  expect(await inState()).toEqual(['first whole', 'slow whole']);
  expect(result.state).toMatchObject({ kind: 'whole', digest: (await rig.state())!.digest });
  expect(result.moves.map(({ address, action, status }) => `${action} ${address} ${status}`)).toEqual([
    'create terraform_data.first completed',
    'create terraform_data.slow completed',
  ]);
  expect(result.moves.every(({ id }) => id !== undefined)).toBe(true);
  const { syncs } = apply.seen();
  expect(syncs.flatMap(({ moves }) => moves).length).toBeGreaterThanOrEqual(2);
  expect((await apply.record()).state).toBe('ended');
  expect(await exists(apply.paths.result)).toBe(true);
  // Nothing was told twice: the log is what the engine wrote, once.
  expect(await apply.log()).toBe(await readFile(apply.paths.out, 'utf8'));
});

it('the second apply of one state, and an empty plan, change nothing [T8.7]', async () => {
  const files = firstAndSlow(0);
  const first = await rig.planned({ files });
  await first.start();
  await first.result();
  const again = await rig.planned({ files });
  await again.start();
  const result = await again.result();
  expect(verdictOf(result)).toEqual({ phase: 'applied' });
  expect(result.serialGrew).toBe(false);
  expect(await rig.happened('created')).toEqual(['first', 'slow']);
});

it('each whole content is stored while the engine works [T8.4]', async () => {
  const apply = await applying(1);
  const serials = apply.seen().states.map(({ serial }) => serial);
  expect(serials).toEqual([...serials].sort((a, b) => a - b));
  expect(verdictOf(await apply.result())).toEqual({ phase: 'applied' });
});

describe('the interrupt matrix [T7.7] [T8.7]', () => {
  it('an interrupt by request is one SIGINT: state saved, slow one tainted, cancelled', async () => {
    const apply = await applying();
    await apply.control({ kind: 'interrupt', order: { by: 'request', reason: 'somebody asked' } });
    const result = await apply.result();
    expect(result.end).toEqual({ kind: 'engine', end: { kind: 'exited', code: 1 } });
    expect(verdictOf(result)).toMatchObject({
      phase: 'cancelled',
      message: 'somebody asked',
      isPartial: true,
    });
    expect(await inState()).toEqual(['first whole', 'slow tainted']);
    expect(result.inDoubt).toEqual([]);
  });

  it('a SIGTERM to the runner, as by the deletion of its pod, is the same, and failed', async () => {
    const apply = await applying();
    kill(await runnerOf(apply), 'SIGTERM');
    const result = await apply.result();
    expect(verdictOf(result)).toMatchObject({ phase: 'failed', reason: 'Interrupted', isPartial: true });
    expect(await inState()).toEqual(['first whole', 'slow tainted']);
  });

  it('further signals are swallowed: a second SIGINT would lose state', async () => {
    const apply = await applying();
    const runner = await runnerOf(apply);
    // Many while the engine still works on the first.
    for (let i = 0; i < 40; i += 1) {
      kill(runner, i % 2 === 0 ? 'SIGINT' : 'SIGTERM');
      await sleep(5);
    }
    const result = await apply.result();
    expect(result).toMatchObject({
      interrupted: { by: 'outside' },
      end: { kind: 'engine', end: { kind: 'exited', code: 1 } },
    });
    expect((await apply.log()).match(/Interrupt received/g)).toHaveLength(1);
    expect(await apply.log()).not.toContain('Two interrupts received');
    expect(await inState()).toEqual(['first whole', 'slow tainted']);
  });

  it('applyTimeout interrupts and waits, and kills nothing', async () => {
    const apply = await rig.planned({ files: firstAndSlow(30), times: { kill: 100 } });
    // Long enough for the engine to get there on a busy machine.
    apply.order.operation.timeoutMs = 10_000;
    await apply.start();
    const engine = await apply.engine();
    // Before that it does not take signals yet.
    await inTheMiddle(apply);
    kill(engine, 'SIGSTOP');
    await until('the interrupt', () => exists(apply.paths.interrupted));
    await sleep(500);
    kill(engine, 'SIGCONT');
    const result = await apply.result();
    expect(result).toMatchObject({
      interrupted: { by: 'timeout' },
      end: { kind: 'engine', end: { kind: 'exited', code: 1 } },
    });
    expect(verdictOf(result)).toMatchObject({ phase: 'failed', reason: 'ApplyTimeout' });
  });

  it('a kill comes after an interrupt only, and leaves it unknown what the slow one is [T8.9]', async () => {
    const apply = await rig.planned({ files: firstAndSlow(30), times: { kill: 800 } });
    await apply.start();
    await inTheMiddle(apply);
    kill(await apply.engine(), 'SIGSTOP');
    await apply.control({ kind: 'interrupt', order: { by: 'request', reason: 'asked' } });
    await apply.control({ kind: 'kill', reason: 'asked too' });
    await until('the interrupt', () => exists(apply.paths.interrupted));
    const interrupted = Date.now();
    const result = await apply.result();
    expect(Date.now() - interrupted).toBeGreaterThanOrEqual(600);
    expect(result.end).toEqual({ kind: 'engine', end: { kind: 'signalled', signal: 'SIGKILL', byUs: true } });
    expect(verdictOf(result)).toMatchObject({ phase: 'apply_unknown', reason: 'EngineKilled' });
    expect(result.inDoubt).toEqual([{ address: 'terraform_data.slow', action: 'create', why: 'noEnd' }]);
    expect(result.leftProcesses).toBeGreaterThan(0);
  });

  it('kill -9 of the engine: the first is saved, the slow one is in doubt, what it had started is ended [T7.6] [T8.6] [T8.9]', async () => {
    const apply = await applying();
    const runner = await runnerOf(apply);
    kill(await apply.engine(), 'SIGKILL');
    const result = await apply.result();
    expect(result.end).toEqual({
      kind: 'engine',
      end: { kind: 'signalled', signal: 'SIGKILL', byUs: false },
    });
    expect(verdictOf(result)).toMatchObject({ phase: 'apply_unknown', reason: 'EngineKilled' });
    expect(await inState()).toEqual(['first whole']);
    expect(result.inDoubt).toEqual([{ address: 'terraform_data.slow', action: 'create', why: 'noEnd' }]);
    expect(result.leftProcesses).toBeGreaterThan(0);
    await gone(runner);
    expect(await rig.happened('done')).toEqual(['first']);
  });

  it('a provisioner that fails: the sibling is saved, the bad one tainted', async () => {
    const apply = await rig.planned({
      files: noting('first') + noting('bad', { after: 'first', then: 'exit 3' }),
    });
    await apply.start();
    const result = await apply.result();
    expect(verdictOf(result)).toMatchObject({
      phase: 'failed',
      reason: 'ApplyFailed',
      isPartial: true,
      message: expect.stringContaining('local-exec provisioner error'),
    });
    expect(await inState()).toEqual(['bad tainted', 'first whole']);
    expect(result.moves.at(-1)).toMatchObject({ address: 'terraform_data.bad', status: 'failed' });
  });

  it('an orphan of a provisioner is ended before the result [T7.6]', async () => {
    const apply = await rig.planned({
      files: noting('first', {
        then: `(trap '' TERM; sleep 60; echo orphan >> $SCRATCH/done) >/dev/null 2>&1 &`,
      }),
      times: { endSession: 300 },
    });
    await apply.start();
    const result = await apply.result();
    expect(verdictOf(result)).toEqual({ phase: 'applied' });
    expect(result.leftProcesses).toBeGreaterThan(0);
  });
});

describe('before the fence nothing is done [T8.1]', () => {
  const files = noting('first');

  it('a state that has changed since the plan is refused', async () => {
    const stale = await rig.planned({ files });
    const other = await rig.planned({ files });
    await other.start();
    await other.result();
    await stale.start();
    const result = await stale.result();
    expect(verdictOf(result)).toMatchObject({
      phase: 'failed',
      reason: 'StaleState',
      hasNoEffect: true,
      message: expect.stringMatching(/made from no state; now there is lineage .*, serial \d/),
    });
    expect(await rig.happened('created')).toEqual(['first']);
  });

  it('another program than the one that made the plan is refused [T6.3]', async () => {
    const apply = await rig.planned({ files });
    apply.order.operation.engine.digest = '0'.repeat(64);
    await apply.start();
    expect(verdictOf(await apply.result())).toMatchObject({ reason: 'EngineNotFound', hasNoEffect: true });
    expect(await rig.happened('created')).toEqual([]);
  });

  it.each(['NoPermit', 'NotHolder', 'OtherTurn'] as const)('%s: nothing is begun [T8.2]', async (reason) => {
    const apply = await rig.planned({ files, isPermitted: reason !== 'NoPermit' });
    if (reason !== 'NoPermit') {
      const { turn } = await rig.server.store.slots.slot(rig.workspace);
      await rig.server.store.slots.release(rig.workspace, { run: apply.run, turn, to: { kind: 'free' } });
    }
    if (reason === 'OtherTurn') await takeSlot(rig.server, apply.run);
    await apply.start();
    expect(verdictOf(await apply.result())).toMatchObject({ phase: 'failed', reason, hasNoEffect: true });
    expect(await rig.happened('created')).toEqual([]);
    expect(await exists(apply.paths.spawning)).toBe(false);
  });

  it('a server that does not answer in time is one that did not say yes [T8.2]', async () => {
    const apply = await rig.planned({ files, times: { begin: 600 } });
    rig.proxy.meddle = ({ what }) => Promise.resolve(what === 'POST begin' ? 503 : undefined);
    await apply.start();
    expect(verdictOf(await apply.result())).toMatchObject({ reason: 'NotStarted', hasNoEffect: true });
    expect(rig.proxy.asked.filter((what) => what === 'POST begin').length).toBeGreaterThan(1);
    expect(await rig.happened('created')).toEqual([]);
  });

  it('an answer that is lost is asked for again with the same nonce [T8.2]', async () => {
    const apply = await rig.planned({ files });
    let lost = 0;
    rig.proxy.meddleAfter = ({ what }) =>
      Promise.resolve(what === 'POST begin' && lost++ < 2 ? 'cut' : undefined);
    await apply.start();
    expect(verdictOf(await apply.result())).toEqual({ phase: 'applied' });
    expect(await rig.happened('created')).toEqual(['first']);
  });

  it('the folder of the plan is used again where it is here, and made anew where it is not', async () => {
    const plan = await rig.plan({ files });
    await plan.start();
    await plan.result();
    const here = await rig.apply(plan);
    await here.start();
    expect(verdictOf(await here.result())).toEqual({ phase: 'applied' });
    expect(here.seen().syncs.map(({ step }) => step)).not.toContain('init');
    expect(await here.log()).not.toContain('init_output');
    const away = await rig.planned({ files: noting('second') });
    await rm(join(rig.scratch, 'ops'), { recursive: true });
    await away.start();
    expect(verdictOf(await away.result())).toEqual({ phase: 'applied' });
    expect(await away.log()).toContain('init_output');
  });
});

it('numbers that JavaScript cannot hold stay what they are in the state [T8.5]', async () => {
  const apply = await rig.planned({
    files: 'resource "terraform_data" "x" {\n  input = 9007199254740993\n}\n',
  });
  await apply.start();
  await apply.result();
  expect((await rig.state())!.bytes.toString('utf8')).toContain('9007199254740993');
  const again = await rig.plan({ files: 'resource "terraform_data" "x" {\n  input = 9007199254740993\n}\n' });
  await again.start();
  expect(verdictOf(await again.result())).toEqual({ phase: 'planned', hasChanges: false });
});

async function runnerOf({ paths }: Piece): Promise<number> {
  return (JSON.parse(await readFile(paths.lock, 'utf8')) as { pid: number }).pid;
}
