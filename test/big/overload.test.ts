/** Far more at once than a machine can do at once: nothing is lost, nothing happens twice, and a cancel does not wait. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isTerminalExecution } from '../../api/core/phase.js';
import type { Action, DRPlanExecution, DRWorkflowSpec } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { condition, http, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { answers, difference } from './answers.js';
import { cancel, createAll, prepare } from './load.js';
import type { Load } from './load.js';
import { lookAtMemory, memoryLimit, memoryText } from './memory.js';
import { SIZES, tell } from './sizes.js';

/** Work that was put off until it is quiet is done by then. */
const CALM_MS = 20_000;
/** The end of a cancelled run, on a machine that has work for many minutes. */
const CANCEL_SECONDS = 30;
/** What is kept of executions that have ended may not be much; the rest is what a collector has not returned yet. */
const FLAT = 2;
/** Parts of how many executions have ended when a cancel is tried. */
const MOMENTS = [0.1, 0.4, 0.7];

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  recorder = await startRecorder();
});
afterAll(() => recorder.close());

const endpoints = servers.endpoints;

/** A call; of some workflows also an object, or a Job. All are named like the execution. */
function workflow(index: number): DRWorkflowSpec {
  const call = http('call', `${recorder.url}/burst/{{ .executionName }}`);
  const object: Action = {
    name: 'write',
    type: 'KubernetesResource',
    resource: {
      operation: 'Create',
      manifest:
        '{ apiVersion: v1, kind: ConfigMap, metadata: { name: "{{ .executionName }}", labels: { big: "yes" } } }',
    },
  };
  const job: Action = {
    name: 'job',
    type: 'Job',
    job: {
      namespace: stack.namespace,
      template: {
        metadata: { labels: { big: '{{ .executionName }}' } },
        spec: {
          backoffLimit: 0,
          template: {
            spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x.example/x' }] },
          },
        },
      },
    },
  };
  return { actions: [call, ...(hasObject(index) ? [object] : []), ...(hasJob(index) ? [job] : [])] };
}

const hasObject = (index: number): boolean => (index % SIZES.workflows) % 10 === 1;
const hasJob = (index: number): boolean => (index % SIZES.workflows) % 25 === 2;
const workflows = () =>
  Array.from({ length: SIZES.workflows }, (_, index) => ({ name: `w-${index}`, spec: workflow(index) }));

/** Names of the objects of a kind that runs have made, by what names their execution, each as often as it is there. */
async function made(kind: 'ConfigMap' | 'Job'): Promise<string[]> {
  const { items } = await stack.kube.list(
    { apiVersion: kind === 'Job' ? 'batch/v1' : 'v1', kind },
    { namespace: stack.namespace, labelSelector: 'big' },
  );
  return items.map(({ metadata }) => (kind === 'Job' ? (metadata.labels?.big ?? '') : metadata.name)).sort();
}

const isWaiting = (execution: DRPlanExecution | undefined): boolean =>
  execution?.status?.temporal === undefined && !isTerminalExecution(execution?.status?.phase);

/** Every effect of those that have succeeded once, and of the others none. */
async function expectEffects(ended: readonly (Load & { index: number })[]): Promise<void> {
  const names = ended.map(({ name }) => name);
  const called = new Map<string, Set<string | undefined>>();
  for (const { path, key } of recorder.requests.filter(({ path: at }) => at.startsWith('/burst/'))) {
    const name = path.slice('/burst/'.length);
    called.set(name, (called.get(name) ?? new Set()).add(key));
  }
  expect([...called.keys()].sort()).toEqual([...names].sort());
  expect([...called].filter(([, keys]) => keys.size !== 1)).toEqual([]);
  const withObject = ended.filter(({ index }) => hasObject(index)).map(({ name }) => name);
  const withJob = ended.filter(({ index }) => hasJob(index)).map(({ name }) => name);
  expect(await made('ConfigMap')).toEqual(withObject.sort());
  expect(await made('Job')).toEqual(withJob.sort());
}

describe(`plans that executions share`, () => {
  beforeAll(async () => {
    stack = await openStack('shared');
  });
  // What it has made stays: to remove it would be work beside what comes next, and the servers go in the end.
  afterAll(() => stack.temporal.connection.close());

  it('every execution runs, or is refused because its plan is busy, none is lost, each effect happens once [S6.12]', async () => {
    const plans = Array.from({ length: Math.min(SIZES.plans, SIZES.executions) }, (_, index) => `p-${index}`);
    await prepare(stack, workflows(), plans);
    const load = Array.from({ length: SIZES.executions }, (_, index) => ({
      name: `e-${index}`,
      plan: `p-${index % plans.length}`,
      index: index % plans.length,
    }));
    const begun = performance.now();
    const running = await createAll(stack, load, { rerun: 'Allowed', startDeadlineSeconds: 86_400 });
    tell(`${load.length} executions of ${plans.length} plans created in ${running.createdIn.toFixed(0)} s`);
    await running.whenEnded(load.length - running.refused.size);
    tell(`drained after ${((performance.now() - begun) / 1000).toFixed(0)} s`);
    const statusOf = (name: string): DRPlanExecution['status'] =>
      running.watch.objects.get(name)?.object.status;
    await running.close();
    const ran = load.filter(({ name }) => statusOf(name)?.phase === 'Succeeded');
    tell(
      `${ran.length} ran, ${running.refused.size} were not let in, ${load.length - ran.length - running.refused.size} found their plan busy`,
    );
    for (const { name, plan } of load) {
      const status = statusOf(name);
      if (status?.phase === 'Succeeded') continue;
      const said = running.refused.get(name) ?? status?.message;
      expect(said, name).toMatch(new RegExp(`plan "${plan}" is in use: .*"e-\\d+"`));
      if (status !== undefined) expect(condition({ status }, 'Succeeded')?.reason).toBe('PlanBusy');
    }
    // However many come at once, a plan runs the first of them.
    expect(new Set(ran.map(({ plan }) => plan)).size).toBe(plans.length);
    await expectEffects(ran);
    for (const plan of [plans[0], plans.at(-1)]) {
      const { status } = await stack.getPlan(plan ?? '');
      expect(status?.currentExecution).toBeUndefined();
      expect(status?.phase).toBe('Executed');
    }
  });
});

describe(`executions with a plan of their own`, () => {
  beforeAll(async () => {
    stack = await openStack('burst');
    recorder.requests.length = 0;
  });
  afterAll(() => stack.temporal.connection.close());

  it('are all run, each effect once, within the memory that is granted, while what is cancelled ends within seconds [S6.13]', async () => {
    const load = Array.from({ length: SIZES.executions }, (_, index) => ({
      name: `e-${index}`,
      plan: `p-${index}`,
      index,
    }));
    const long = MOMENTS.map((_, index) => ({ name: `long-${index}`, plan: `long-${index}` }));
    const endless = http('call', `${recorder.url}/long/{{ .executionName }}?delay=86400000`, {
      timeout: '24h',
    });
    await prepare(
      stack,
      workflows(),
      load.map(({ plan }) => plan),
    );
    await prepare(
      stack,
      [{ name: 'endless', spec: { actions: [endless] } }],
      long.map(({ plan }) => plan),
    );
    for (const { name, plan } of long) await stack.execute(plan, {}, name);
    await expect
      .poll(() => recorder.requests.filter(({ path }) => path.startsWith('/long/')).length, {
        timeout: 120_000,
      })
      .toBe(long.length);
    await sleep(CALM_MS);

    const [limits, asked] = [
      { bridge: await memoryLimit('bridge'), worker: await memoryLimit('worker') },
      await answers(stack.kube),
    ];
    const before = await lookAtMemory(endpoints);
    tell(`before: ${memoryText(before)}`);
    const begun = performance.now();
    const running = await createAll(stack, load, { startDeadlineSeconds: 86_400 });
    const rate = load.length / running.createdIn;
    tell(
      `${load.length} executions created in ${running.createdIn.toFixed(0)} s (${rate.toFixed(0)}/s); ${running.openThen} open then, ${running.again} asked to try again`,
    );

    const waits: { what: string; seconds: number }[] = [];
    const withdrawn = new Set<string>();
    for (const [index, part] of MOMENTS.entries()) {
      await running.whenEnded(Math.floor(load.length * part));
      const last = [...load].reverse().find(({ name }) => isWaiting(running.watch.objects.get(name)?.object));
      const cancelled = [
        { what: 'runs', name: `long-${index}` },
        ...(last === undefined ? [] : [{ what: 'waits', name: last.name }]),
      ];
      if (last !== undefined) withdrawn.add(last.name);
      await Promise.all(
        cancelled.map(async ({ what, name }) => {
          const seconds = await cancel(stack, running.watch, name);
          const { status } = running.watch.objects.get(name)?.object ?? {};
          tell(`after ${part * 100} %: cancel of one that ${what}: ${seconds.toFixed(1)} s`);
          expect(status?.phase).toBe('Cancelled');
          waits.push({ what, seconds });
        }),
      );
    }
    await running.whenEnded(load.length);
    const seconds = (performance.now() - begun) / 1000;
    const peak = await lookAtMemory(endpoints);
    tell(`drained after ${seconds.toFixed(0)} s: ${memoryText(peak)}`);
    await sleep(CALM_MS);
    const after = await lookAtMemory(endpoints);
    tell(`at rest: ${memoryText(after)}`);
    const more = difference(await answers(stack.kube), asked);
    tell(`answers of the API server: ${JSON.stringify(more)}`);
    await running.close();

    const phases = load.map(({ name }) => [name, running.watch.objects.get(name)?.object.status?.phase]);
    expect(phases).toEqual(load.map(({ name }) => [name, withdrawn.has(name) ? 'Cancelled' : 'Succeeded']));
    await expectEffects(load.filter(({ name }) => !withdrawn.has(name)));
    expect(recorder.requests.filter(({ path, aborted }) => path.startsWith('/long/') && !aborted)).toEqual(
      [],
    );
    // It was more than could be done at once, so that something had to wait.
    expect(running.openThen).toBeGreaterThan(load.length / 2);
    expect(waits.filter(({ what }) => what === 'waits')).not.toEqual([]);
    for (const wait of waits) expect(wait.seconds, `one that ${wait.what}`).toBeLessThan(CANCEL_SECONDS);
    for (const program of ['bridge', 'worker'] as const) {
      expect(peak[program]?.peakMiB ?? 0, `peak of the ${program}`).toBeLessThan(limits[program]);
    }
    expect(after.bridge?.rssMiB ?? 0).toBeLessThan((before.bridge?.rssMiB ?? 1) * FLAT);
    expect((more.refused ?? 0) / (more.all ?? 1), 'part of answers 429').toBeLessThan(0.01);
  });
});
