/** Bridge, worker, command line and definitions of two releases beside each other, in both directions. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forAll } from '../../../bench/lib/load.js';
import { applyDefinitions, readObjects } from '../../../local/apply.js';
import { startRecorder } from '../../support/recorder.js';
import type { Recorder } from '../../support/recorder.js';
import { kill, mend } from '../../support/parts.js';
import { servers } from '../../support/servers.js';
import { http, openStack, unique } from '../../support/stack.js';
import type { Stack } from '../../support/stack.js';
import { tell } from '../sizes.js';
import { buildAs, buildOlder, lazily, olderRevision, thisBuild } from './builds.js';
import type { Build } from './builds.js';
import { createFleet } from './fleet.js';
import type { Fleet } from './fleet.js';
import { outcomeOf, prepare, SHAPE_NAMES } from './shapes.js';
import type { Prepared } from './shapes.js';

const PATIENCE_MS = 180_000;
const PARALLEL = 6;

const revision = await olderRevision();
const here = await thisBuild();
const others: [string, () => Promise<Build>][] = [
  ['the next release', lazily(() => buildAs('0.2.0'))],
  ...(revision === undefined
    ? []
    : ([['an older commit', lazily(() => buildOlder(revision, '0.0.9'))]] satisfies typeof others)),
];
/** Who is of the other build. */
type Part = 'bridge' | 'worker' | 'definitions';
const skews = others.flatMap(([called, other]) =>
  ([['bridge'], ['worker'], ['bridge', 'worker'], ['bridge', 'definitions']] satisfies Part[][]).map(
    (parts): [string, () => Promise<Build>, Part[]] => [`${parts.join(' and ')} of ${called}`, other, parts],
  ),
);

let stack: Stack;
let recorder: Recorder;
let fleet: Fleet;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('skew', { admission: 'disabled' }), startRecorder()]);
  await kill('bridge', 'worker');
  fleet = createFleet();
});
afterAll(async () => {
  await fleet.close();
  await define(here);
  await mend();
  await recorder.close();
  await stack.temporal.connection.close();
});

const define = async ({ root }: Build): Promise<void> =>
  applyDefinitions(stack.kube, await readObjects(join(root, 'deploy', 'crds')));

/** The command line of a build. */
function drover({ root }: Build, ...args: string[]): Promise<{ code: number; out: string }> {
  const all = [join(root, 'bin', 'drover.js'), ...args, '--kubeconfig', servers.kubeconfig];
  const env = { ...process.env, NO_COLOR: '1', TEMPORAL_ADDRESS: servers.temporal };
  return new Promise((resolve) => {
    execFile(process.execPath, all, { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr });
    });
  });
}

describe('releases beside each other', () => {
  it.each(skews)('carry out runs of all shapes: %s beside today’s', async (title, build, parts: Part[]) => {
    const other = await build();
    const of = (part: Part): Build => (parts.includes(part) ? other : here);
    const [bridge, worker, definitions] = [of('bridge'), of('worker'), of('definitions')];
    await fleet.close();
    await define(definitions);
    await fleet.start('worker', worker);
    await fleet.start('bridge', bridge);
    const ready: Prepared[] = [];
    const stem = unique('skew');
    await forAll(
      SHAPE_NAMES,
      async (shape) => {
        ready.push(await prepare({ stack, recorder }, { shape, moment: title, id: `${stem}-${shape}` }));
      },
      PARALLEL,
    );
    const journeys = await Promise.all(ready.map((one) => one.begin()));
    const outcomes = await Promise.all(
      journeys.map((journey) => outcomeOf({ stack, recorder }, journey, PATIENCE_MS)),
    );
    const bad = outcomes.filter(
      ({ lost, repeated, stuck }) => lost.length + repeated.length + stuck.length > 0,
    );
    tell(`${title}: ${outcomes.length - bad.length} of ${outcomes.length} runs as they should be`);
    expect(bad).toEqual([]);

    // Either command line understands what the other release shows, and starts what it carries out.
    const name = unique('cli');
    await stack.simplePlan(name, [http('a', `${recorder.url}/${name}`)]);
    for (const build of [here, bridge]) {
      const at = ['-n', stack.namespace];
      const ran = await drover(build, 'run', name, '--yes', '--watch', '--rerun', ...at);
      expect(ran.code, ran.out).toBe(0);
      const execution = new RegExp(`${name}-[a-z0-9]{5}`).exec(ran.out)?.[0] ?? '';
      expect((await drover(build, 'describe', execution, ...at)).out).toMatch(/Succeeded/);
      expect((await drover(build, 'get', 'executions', ...at)).out).toContain(execution);
    }
    expect(recorder.effects(`/${name}`)).toBe(2);
    const check = await drover(here, 'upgrade', '--check', '--temporal', servers.temporal);
    expect(check.out).toMatch(/^(safe now|not now)/m);
  });
});
