import { DEFAULT_RETRY } from '../../api/plan/actions/default-retry.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AbortReason, Attempt, AttemptResult, Memo } from '../../activities/core/handler.js';
import { jobHandler } from '../../activities/actions/job/job.js';
import type { Job } from '../../activities/actions/job/job-state.js';
import { podAnnotations } from '../../local/fake-node/stages.js';
import { openBench, startLife } from '../support/attempts.js';
import type { Bench, Life } from '../support/attempts.js';
import { servers } from '../support/servers.js';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench(servers.kubeconfig);
});
afterAll(() => bench.close());

interface Shape {
  annotations?: Record<string, string>;
  spec?: Record<string, unknown>;
  ttl?: number;
  timeoutMs?: number;
  template?: Record<string, unknown>;
}

const podTemplate = (annotations: Record<string, string> = {}): Record<string, unknown> => ({
  metadata: { annotations },
  spec: {
    restartPolicy: 'Never',
    containers: [{ name: 'main', image: 'example/none', args: ['{{ .params.n }}'] }],
  },
});

const life = (shape: Shape = {}): Life =>
  startLife(
    bench,
    jobHandler,
    {
      type: 'Job',
      job: {
        namespace: '{{ .params.ns }}',
        template: shape.template ?? {
          metadata: { labels: { team: 'dr' } },
          spec: { backoffLimit: 0, template: podTemplate(shape.annotations), ...shape.spec },
        },
        ...(shape.ttl !== undefined && { ttlSecondsAfterFinished: shape.ttl }),
      },
    },
    { timeoutMs: shape.timeoutMs ?? 30_000, params: { ns: bench.namespace, n: 3 } },
  );

const jobOf = (result: AttemptResult): { name: string; uid: string } => {
  const ref = 'outputs' in result ? result.outputs?.jobRef : undefined;
  if (ref?.uid === undefined) throw new Error(`no jobRef with a uid in ${JSON.stringify(result)}`);
  return { name: ref.name, uid: ref.uid };
};
const ref = (result: AttemptResult): { name: string; namespace: string; uid: string } => ({
  ...jobOf(result),
  namespace: bench.namespace,
});
const get = (name: string): Promise<Job | undefined> =>
  bench.kube.get<Job>({ apiVersion: 'batch/v1', kind: 'Job', namespace: bench.namespace, name });
const pods = async (uid: string): Promise<unknown[]> =>
  (
    await bench.kube.list(
      { apiVersion: 'v1', kind: 'Pod' },
      { namespace: bench.namespace, labelSelector: `batch.kubernetes.io/controller-uid=${uid}` },
    )
  ).items;

/** An attempt whose end the test decides, and what it remembered. */
function controlled(
  action: Life,
  changes: Partial<Attempt> = {},
): {
  attempt: Attempt;
  abort: (reason: AbortReason) => void;
  memo: () => Memo | undefined;
} {
  const controller = new AbortController();
  let memo: Memo | undefined;
  const attempt = action.attempt({
    signal: controller.signal,
    remember: (next) => {
      memo = next;
    },
    ...changes,
  });
  return { attempt, abort: (reason) => controller.abort(reason), memo: () => memo };
}

async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (let tries = 0; tries < 200; tries += 1) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('did not happen within 10 s');
}

const HANG = { [podAnnotations.hang]: '1' };

describe('a Job', () => {
  it('runs to Complete, rendered and marked, and is deleted by undo with its pods [S3.26]', async () => {
    const action = life();
    const result = await action.run();
    expect(result).toMatchObject({ kind: 'succeeded' });
    const { name, uid } = jobOf(result);
    expect(name.length).toBeLessThanOrEqual(63);
    const job = await get(name);
    expect(job?.metadata).toMatchObject({
      uid,
      labels: { team: 'dr', 'dr.bkbcs.tencent.com/execution': bench.run.uid },
      annotations: { 'dr.bkbcs.tencent.com/key': action.attempt().key },
    });
    expect(JSON.stringify(job)).toContain('"args":["3"]');
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get(name)).toBeUndefined();
    // Pods that have ended are no longer waited for; Kubernetes takes them away a moment later.
    await until(async () => ((await pods(uid)).length === 0 ? true : undefined));
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
  });

  it('that fails is final and says why [S3.5] [S3.28]', async () => {
    const result = await life({
      annotations: { [podAnnotations.exitCode]: '3', [podAnnotations.message]: 'no quorum' },
    }).run();
    expect(result).toMatchObject({ kind: 'failed', reason: 'JobFailed', effect: 'Done' });
    expect(jobOf(result).uid).not.toBe('');
    const { message } = result as { message: string };
    expect(message).toContain('BackoffLimitExceeded');
    expect(message).toContain('container main exited 3 (Error: no quorum)');
  });

  it('that fails runs again in a new round where the policy asks for it [S3.5]', async () => {
    const action = life({ annotations: { [podAnnotations.exitCode]: '1' } });
    const { attempt } = controlled(action);
    const task = { ...attempt.task, retry: { ...DEFAULT_RETRY, limit: 2, rerunJob: true } };
    expect(await jobHandler.run({ ...attempt, task })).toMatchObject({ kind: 'retry', round: 'Settled' });
  });

  it('is adopted by the next attempt after a lost one, not run twice [S3.25]', async () => {
    const action = life({ annotations: { [podAnnotations.duration]: '1500ms' } });
    const first = controlled(action);
    const lost = jobHandler.run(first.attempt);
    await until(() => first.memo());
    const second = await jobHandler.run(action.attempt({ remembered: first.memo() }));
    const third = await jobHandler.run(action.attempt());
    expect(second).toMatchObject({ kind: 'succeeded' });
    expect(jobOf(third)).toEqual(jobOf(second));
    expect(await lost).toMatchObject({ kind: 'succeeded' });
  });

  it("is never taken over when it is somebody else's [S3.9]", async () => {
    const action = life();
    const { name } = jobOf(await action.run());
    await bench.kube.patch(
      { apiVersion: 'batch/v1', kind: 'Job', namespace: bench.namespace, name },
      { metadata: { annotations: { 'dr.bkbcs.tencent.com/key': 'another' } } },
      { kind: 'merge' },
    );
    expect(await jobHandler.run(action.attempt())).toMatchObject({
      kind: 'failed',
      reason: 'NotOurs',
      effect: 'None',
      message: expect.stringContaining(name) as string,
    });
  });

  it('that somebody deletes is reported, and not made again by a later attempt', async () => {
    const action = life({ annotations: HANG });
    const { attempt, memo } = controlled(action);
    const running = jobHandler.run(attempt);
    await until(() => memo());
    const key = { apiVersion: 'batch/v1', kind: 'Job' };
    const [job] = (
      await bench.kube.list<Job>(key, {
        namespace: bench.namespace,
        labelSelector: `dr.bkbcs.tencent.com/action=0.0.${attempt.task.at.action}`,
      })
    ).items;
    await bench.kube.delete(
      { ...key, namespace: bench.namespace, name: job?.metadata.name ?? '' },
      { propagationPolicy: 'Background' },
    );
    expect(await running).toMatchObject({ kind: 'failed', reason: 'JobDisappeared', effect: 'Unknown' });
    expect(await jobHandler.run(action.attempt({ remembered: memo() }))).toMatchObject({
      kind: 'failed',
      reason: 'JobDisappeared',
    });
  });

  it('gets its TTL only once its result is known [S3.28]', async () => {
    const action = life({ ttl: 0 });
    const { attempt, memo } = controlled(action);
    const result = await jobHandler.run(attempt);
    expect(result).toMatchObject({ kind: 'succeeded' });
    expect(memo()).toMatchObject({ completed: true });
    const { name, uid } = jobOf(result);
    const ttl = ((await get(name))?.spec as { ttlSecondsAfterFinished: number } | undefined)
      ?.ttlSecondsAfterFinished;
    expect(ttl).toBeGreaterThanOrEqual(60);
    expect(ttl).toBeLessThan(120);
    await bench.kube.delete(
      { apiVersion: 'batch/v1', kind: 'Job', namespace: bench.namespace, name },
      { propagationPolicy: 'Background' },
    );
    const late = await jobHandler.run(action.attempt({ remembered: memo() }));
    expect(late).toMatchObject({ kind: 'succeeded', outputs: { jobRef: { uid } } });
  });
});

describe('a Job that does not end', () => {
  it('is deleted on timeout, for good, once its pods are gone [S3.26]', async () => {
    const action = life({ annotations: HANG, timeoutMs: 60_000 });
    const { attempt, abort, memo } = controlled(action);
    const running = jobHandler.run(attempt);
    await until(() => memo());
    await until(async () => ((await pods(String(memo()?.jobUid))).length > 0 ? true : undefined));
    abort('timeout');
    const result = await running;
    expect(result).toMatchObject({ kind: 'failed', reason: 'Timeout', effect: 'Unknown' });
    const { name, uid } = jobOf(result);
    expect(await get(name)).toBeUndefined();
    expect(await pods(uid)).toEqual([]);
    expect((result as { message: string }).message).toContain('its pods are gone');
  });

  it('is deleted on cancel [S3.26]', async () => {
    const { attempt, abort, memo } = controlled(life({ annotations: HANG }));
    const running = jobHandler.run(attempt);
    await until(() => memo());
    abort('cancelled');
    const result = await running;
    expect(result).toMatchObject({ kind: 'interrupted', effect: 'Unknown', unsettled: false });
    expect(await get(jobOf(result).name)).toBeUndefined();
  });

  it('is left alone when only the worker goes', async () => {
    const action = life({ annotations: HANG });
    const { attempt, abort, memo } = controlled(action);
    const running = jobHandler.run(attempt);
    await until(() => memo());
    abort('shutdown');
    const result = await running;
    expect(result).toMatchObject({ kind: 'interrupted' });
    expect(await get(jobOf(result).name)).toBeDefined();

    // What settle finds by its key alone, it stops.
    const settled = await action.settle();
    expect(settled).toMatchObject({ kind: 'failed', reason: 'Interrupted', effect: 'Unknown' });
    expect(jobOf(settled)).toEqual(jobOf(result));
    expect(await get(jobOf(result).name)).toBeUndefined();
    expect(await action.settle()).toMatchObject({ kind: 'failed', effect: 'Unknown' });
  });

  it('is undone by its key when nothing was recorded [S3.11]', async () => {
    const action = life({ annotations: HANG });
    const { attempt, abort, memo } = controlled(action);
    const running = jobHandler.run(attempt);
    await until(() => memo());
    abort('shutdown');
    const { name } = jobOf(await running);
    expect(await action.undo()).toMatchObject({ kind: 'succeeded' });
    expect(await get(name)).toBeUndefined();
    expect(await action.undo()).toMatchObject({ kind: 'skipped', reason: 'NothingToUndo' });
  });

  it('whose Job somebody has deleted is undone when the pods that are left have gone [F9]', async () => {
    const action = life({ annotations: { ...HANG, [podAnnotations.stop]: '2s' } });
    const { attempt, abort, memo } = controlled(action);
    const running = jobHandler.run(attempt);
    await until(() => memo());
    abort('shutdown');
    const { name, uid } = jobOf(await running);
    await until(async () => ((await pods(uid)).length > 0 ? true : undefined));
    await bench.kube.delete(
      { apiVersion: 'batch/v1', kind: 'Job', namespace: bench.namespace, name },
      { propagationPolicy: 'Background' },
    );
    expect(await pods(uid)).toHaveLength(1);
    const forward = { name: attempt.task.name, phase: 'Failed' };
    const task = { ...attempt.task, direction: 'undo' as const, forward };
    // A timeout ends neither the undo nor what goes on with it.
    const late = (): Partial<Attempt> => {
      const controller = new AbortController();
      setTimeout(() => controller.abort('timeout'), 400);
      return { task, signal: controller.signal };
    };
    expect(await jobHandler.undo(action.attempt(late()))).toMatchObject({
      kind: 'interrupted',
      unsettled: true,
      isFinal: true,
      message: expect.stringContaining('waits until its pods are gone') as string,
    });
    expect(await jobHandler.settle(action.attempt(late()))).toMatchObject({
      kind: 'retry',
      reason: 'PodsRemain',
    });
    expect(await jobHandler.undo(action.attempt({ task }))).toMatchObject({ kind: 'succeeded' });
    expect(await pods(uid)).toEqual([]);
  });

  it('is deleted by the settle of an undo that was lost', async () => {
    const action = life();
    const result = await action.run();
    const { attempt } = controlled(action);
    const forward = { name: attempt.task.name, phase: 'Succeeded', outputs: { jobRef: ref(result) } };
    const task = { ...attempt.task, direction: 'undo' as const, forward };
    expect(await jobHandler.settle({ ...attempt, task })).toMatchObject({ kind: 'succeeded' });
    expect(await get(jobOf(result).name)).toBeUndefined();
  });

  it('counts as completed for settle when it has completed', async () => {
    const action = life();
    const { name } = jobOf(await action.run());
    expect(await action.settle()).toMatchObject({ kind: 'succeeded', outputs: { jobRef: { name } } });
  });
});

describe('a template', () => {
  it.each([
    ['a whole Job', { apiVersion: 'batch/v1', kind: 'Job', spec: { template: podTemplate() } }],
    ['a bare JobSpec', { template: podTemplate() }],
  ])('may be %s', async (_what, template) => {
    expect(await life({ template }).run()).toMatchObject({ kind: 'succeeded' });
  });

  it.each([
    [{ spec: { suspend: true, template: podTemplate() } }, 'InvalidJob', 'suspend'],
    [{ spec: { containers: [] } }, 'InvalidJob', 'pod template'],
    [{ kind: 'Pod', spec: {} }, 'InvalidJob', 'Pod'],
    [{ metadata: { namespace: 'elsewhere' }, spec: { template: podTemplate() } }, 'InvalidJob', 'elsewhere'],
    [{ spec: { template: { spec: { restartPolicy: 'Never', containers: [] } } } }, 'Invalid', 'containers'],
  ])('%j is refused [S3.29]', async (template, reason, word) => {
    const result = await life({ template }).run();
    expect(result).toMatchObject({ kind: 'failed', reason, effect: 'None' });
    expect((result as { message: string }).message).toContain(word);
  });

  it('is refused with what to grant when the identity lacks the right', async () => {
    const user = `system:serviceaccount:${bench.namespace}:nobody`;
    const action = life();
    const attempt = action.attempt({ kube: bench.kube.as({ user }) });
    const result = await jobHandler.run({ ...attempt, identity: user });
    expect(result).toMatchObject({ kind: 'failed', reason: 'Forbidden', effect: 'None' });
    expect((result as { message: string }).message).toContain(`grant ${user}`);
  });
});
