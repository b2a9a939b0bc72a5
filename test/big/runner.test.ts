/** Runners and engines killed at any moment, at each request, and with contents as large as they may be. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  createRig,
  gone,
  kill,
  until,
  verdictOf,
  type Piece,
  type PlanCache,
  type Rig,
} from '../terraform/support/rig.js';
import { noting } from '../terraform/support/configurations.js';
import { tell } from './sizes.js';

const STRIKES = 60;
const RESOURCES = 8;
/** Set to repeat a run. */
const SEED = Number(process.env.DROVER_BIG_SEED ?? Date.now() % 1_000_000);

let rig: Rig;
const plans: PlanCache = new Map();
beforeEach(async () => {
  rig = await createRig(plans);
});
afterEach(() => rig.close());

/** Numbers from 0 to 1 that follow from a seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** One resource after the other, so that a moment falls between any two of them. */
const chain = Array.from({ length: RESOURCES }, (_, index) =>
  noting(`r${index}`, { seconds: 0.1, ...(index > 0 && { after: `r${index - 1}` }) }),
).join('');

/** Starts a runner again where none has begun, and salvages, as a worker does, until it is over. */
async function settle(apply: Piece): Promise<void> {
  for (;;) {
    const end = await apply.salvage();
    if (end.kind === 'over' || end.kind === 'revoked') return;
    if (end.kind === 'free') await apply.start();
    await sleep(50);
  }
}

async function checkNothingLost(apply: Piece): Promise<string> {
  const record = await apply.record();
  const created = await rig.happened('created');
  expect(created).toEqual([...new Set(created)]);
  if (record.state === 'revoked') {
    expect(created).toEqual([]);
    return 'revoked';
  }
  const result = await apply.result();
  const verdict = verdictOf(result);
  const inState = (await rig.stateResources()).map(({ name }) => name);
  const inDoubt = result.inDoubt.map(({ address }) => address.replace('terraform_data.', ''));
  // Whatever was begun is in the final state, or it is said that nobody knows.
  for (const name of created) expect([...inState, ...inDoubt]).toContain(name);
  for (const name of inState) expect(created).toContain(name);
  if (verdict.phase === 'applied') expect(inState).toHaveLength(RESOURCES);
  if ('hasNoEffect' in verdict) expect(created).toEqual([]);
  expect(await apply.log()).toBe(await readFile(apply.paths.out, 'utf8').catch(() => ''));
  return verdict.phase === 'applied'
    ? 'applied'
    : `${verdict.phase} ${'reason' in verdict ? verdict.reason : ''}`;
}

it(`loses nothing and does nothing twice in ${STRIKES} strikes at random moments [T8.6] [T8.9] [T16.2]`, async () => {
  tell(`seed ${SEED}`);
  const next = random(SEED);
  const ends: Record<string, number> = {};
  for (let strike = 0; strike < STRIKES; strike += 1) {
    await rig.close();
    rig = await createRig(plans);
    const apply = await rig.planned({ files: chain });
    const pid = await apply.start();
    await sleep(next() * 3000);
    const target = next();
    const engine = await apply.enginePid();
    if (target < 0.4 || engine === undefined) kill(pid, 'SIGKILL');
    else if (target < 0.7) kill(engine, 'SIGKILL');
    else {
      kill(pid, 'SIGKILL');
      kill(engine, 'SIGKILL');
    }
    await gone(pid);
    await settle(apply);
    const end = await checkNothingLost(apply);
    ends[end] = (ends[end] ?? 0) + 1;
  }
  tell(JSON.stringify(ends));
  expect(Object.keys(ends).length).toBeGreaterThan(1);
});

it.each(
  [
    'GET artefact/variables',
    'GET artefact/archive',
    'GET state',
    'GET artefact/planFile',
    'POST begin',
    'POST sync',
    'PUT state',
    'POST state',
    'PUT result',
  ].flatMap((request) => [[request, 'before'] as const, [request, 'after'] as const]),
)('loses nothing where the runner dies at %s, %s it is answered [T16.2]', async (request, when) => {
  const apply = await rig.planned({ files: chain });
  const struck = rig.killAt(apply, request, when);
  const pid = await apply.start();
  await struck;
  await gone(pid);
  rig.heal();
  await settle(apply);
  expect(await checkNothingLost(apply)).not.toBe('');
});

it('a plan that dies at any request is lost or revoked, and leaves no engine [T7.4]', async () => {
  for (const request of [
    'GET artefact/archive',
    'POST begin',
    'PUT artefact/planFile',
    'GET artefact/planJson',
    'PUT result',
  ]) {
    const plan = await rig.plan({ files: chain });
    const struck = rig.killAt(plan, request, 'before');
    const pid = await plan.start();
    await struck;
    await gone(pid);
    rig.heal();
    await settle(plan);
    expect(['revoked', 'lost', 'ended']).toContain((await plan.record()).state);
  }
});

it('a state of 60 MB is mirrored and becomes final, and the runner stays small [T8.4]', async () => {
  const apply = await rig.planned({
    files: `variable "pad" { default = "" }\n${noting('first')}\nresource "terraform_data" "large" {\n  depends_on = [terraform_data.first]\n  input      = join("", [for i in range(30) : var.pad])\n}\n${noting('last', { seconds: 2, after: 'large' })}`,
    variables: [{ key: 'pad', value: 'x'.repeat(1_000_000) }],
  });
  const pid = await apply.start();
  let largest = 0;
  const result = await until('the end', async () => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    largest = Math.max(largest, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    const record = await apply.record();
    return record.state === 'ended' ? record.result : undefined;
  });
  expect(verdictOf(result)).toEqual({ phase: 'applied' });
  expect((await rig.state())!.bytes.length).toBeGreaterThan(60_000_000);
  tell(`runner: ${Math.round(largest / 1024)} MB at most, ${apply.seen().states.length} contents stored`);
  expect(largest).toBeGreaterThan(0);
});

it('a line of 9 MB is cut and says so [T1.6]', async () => {
  const plan = await rig.plan({
    files: `output "long" {\n  value = join("", [for i in range(9) : var.pad])\n}\nvariable "pad" {}\n`,
    variables: [{ key: 'pad', value: 'x'.repeat(1_000_000) }],
  });
  await plan.start();
  expect(verdictOf(await plan.result())).toEqual({ phase: 'planned', hasChanges: true });
  expect(await plan.log()).toMatch(/… \(cut: the line has 9\d{6} bytes\)\n/);
});
