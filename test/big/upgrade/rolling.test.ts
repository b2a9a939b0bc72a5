/**
 * Programs are replaced one by one in the middle of 50 runs of all shapes, forwards and back: all runs end as they should,
 * and none repeats an effect. With two builds of today's sources, and with an older commit.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forAll } from '../../../bench/lib/load.js';
import { createRuns } from '../../../client/runs/runs.js';
import { startRecorder } from '../../support/recorder.js';
import type { Recorder } from '../../support/recorder.js';
import { kill, mend } from '../../support/parts.js';
import { openStack } from '../../support/stack.js';
import type { Stack } from '../../support/stack.js';
import { tell } from '../sizes.js';
import { buildAs, buildOlder, lazily, olderRevision, thisBuild } from './builds.js';
import type { Build } from './builds.js';
import { createFleet } from './fleet.js';
import type { Fleet } from './fleet.js';
import { outcomeOf, prepare, SHAPE_NAMES, tableOf } from './shapes.js';
import type { Journey, Outcome, Prepared } from './shapes.js';

/** From its beginning to its end a run takes 15 s on an idle machine. */
const PATIENCE_MS = 240_000;
const PARALLEL = 6;
/** What is replaced when, and the runs that begin just before. */
const MOMENTS = ['none', 'one worker', 'workers', 'one bridge', 'all'] as const;

let stack: Stack;
let recorder: Recorder;
let fleet: Fleet;
const revision = await olderRevision();
const here = await thisBuild();
const next = lazily(() => buildAs('0.2.0'));
const older = lazily(() => buildOlder(revision ?? '', '0.0.9'));

beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('rolling', { admission: 'disabled' }), startRecorder()]);
  await kill('bridge', 'worker');
});
afterAll(async () => {
  await mend();
  await recorder.close();
  await stack.temporal.connection.close();
});

/** Replaces all programs in turn while runs go on. */
async function roll(from: Build, to: Build): Promise<Outcome[]> {
  fleet = createFleet();
  try {
    for (const program of ['bridge', 'worker', 'bridge', 'worker'] as const) await fleet.start(program, from);
    const ready: Prepared[] = [];
    const wanted = MOMENTS.flatMap((moment) => SHAPE_NAMES.map((shape) => ({ moment, shape })));
    await forAll(
      wanted,
      async ({ moment, shape }) => {
        const id = `${from.version}-${to.version}-${moment}-${shape}`.replaceAll(/[^a-z0-9-]+/g, '-');
        ready.push(await prepare({ stack, recorder }, { moment, shape, id }));
      },
      PARALLEL,
    );
    const journeys: Journey[] = [];
    const begin = async (moment: string): Promise<void> => {
      const those = ready.filter((one) => one.moment === moment);
      await forAll(those, async (one) => void journeys.push(await one.begin()), PARALLEL);
    };
    await begin('none');
    await fleet.replaceOne('worker', to);
    await begin('one worker');
    await fleet.replaceOne('worker', to);
    await begin('workers');
    await fleet.replaceOne('bridge', to);
    await begin('one bridge');
    await fleet.replaceOne('bridge', to);
    await begin('all');
    expect(journeys).toHaveLength(MOMENTS.length * SHAPE_NAMES.length);
    const outcomes = await Promise.all(
      journeys.map((journey) => outcomeOf({ stack, recorder }, journey, PATIENCE_MS)),
    );
    tell(`from ${from.called} to ${to.called}\n${tableOf(outcomes, MOMENTS)}`);
    await expectStruck(journeys, to);
    return outcomes;
  } finally {
    await fleet.close();
  }
}

/** Runs that began before anything was replaced have been carried on by the other build: else nothing was shown. */
async function expectStruck(journeys: readonly Journey[], to: Build): Promise<void> {
  const runs = createRuns(stack.temporal);
  const early = journeys.filter(({ moment }) => moment === 'none');
  const builds = await Promise.all(
    early.map(async ({ execution }) => {
      const { status } = await stack.get(execution);
      return (await runs.describe(status?.temporal?.workflowId ?? ''))?.build?.buildId ?? '';
    }),
  );
  const carriedOn = builds.filter((build) => build.startsWith(`${to.version}-`));
  tell(`${carriedOn.length} of ${early.length} runs that began on the build before ended on ${to.version}`);
  expect(carriedOn.length).toBeGreaterThan(0);
}

function expectWhole(outcomes: readonly Outcome[]): void {
  const bad = outcomes.filter(
    ({ lost, repeated, stuck }) => lost.length + repeated.length + stuck.length > 0,
  );
  expect(bad).toEqual([]);
}

describe('a rolling change of all programs in the middle of 50 runs', () => {
  it('loses, repeats and holds up nothing on the way to the next release', async () => {
    expectWhole(await roll(here, await next()));
  });

  it('nor on the way back', async () => {
    expectWhole(await roll(await next(), here));
  });

  it.skipIf(revision === undefined)('nor from an older commit', async () => {
    const from = await older();
    expectWhole(await roll(from, here));
  });

  it.skipIf(revision === undefined)('nor back to an older commit', async () => {
    const to = await older();
    expectWhole(await roll(here, to));
  });
});
