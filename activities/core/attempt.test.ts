import { ActivityCancellationDetails, ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Action } from '../../api/plan/types.js';
import { policyFor } from '../../api/plan/policy.js';
import type { Impersonation, KubeClient } from '../../kube/client.js';
import { KubeError } from '../../kube/error.js';
import { DEFAULT_RETRY } from '../../api/plan/actions/default-retry.js';
import type { ActionOutcome, ActionTask, AttemptNote } from '../../workflows/plan/contract-tasks.js';
import { captureAction, runAction, settleAction } from './attempt.js';
import { createEgressPolicy } from './egress.js';
import type { Attempt, AttemptResult, Handler, RoundAfter } from './handler.js';
import type { AttemptDeps } from './prepare.js';
import type { SnapshotStore } from './snapshots.js';
import { createHeartbeats } from './heartbeats.js';
import { NO_PRIOR_STORE } from './prior-store.js';
import { createTargets } from './target.js';
import { ownSealer } from './testing/own-sealer.js';
import { createVouching } from './vouching.js';

const impersonated: Impersonation[] = [];
const notes: AttemptNote[] = [];
const kube = {
  as: (who: Impersonation) => {
    impersonated.push(who);
    return kube;
  },
} as unknown as KubeClient;

const deps: AttemptDeps = {
  kube,
  snapshots: { read: () => Promise.reject(new Error('not needed')) } satisfies SnapshotStore,
  targets: createTargets(createEgressPolicy()),
  log: pino({ level: 'silent' }),
  controllerIdentity: true,
  confirmIdentity: () => Promise.resolve(undefined),
  policies: { of: (namespace) => Promise.resolve(policyFor(namespace, [])), forget: () => undefined },
  heartbeats: createHeartbeats(),
  notes: {
    send: (note) => {
      notes.push(note);
    },
  },
  // What is sealed and what is not is told apart in vouching.test.ts.
  priors: NO_PRIOR_STORE,
  vouching: createVouching({ sealer: ownSealer(), acceptUnsealedUntil: new Date('2999-01-01') }),
};

function taskOf(part: Partial<ActionTask> = {}, action: Partial<Action> = {}): ActionTask {
  return {
    run: {
      cluster: 'c',
      namespace: 'dr',
      name: 'exec',
      uid: 'run-uid',
      plan: { name: 'plan', namespace: 'plans', uid: 'p' },
      operation: 'Execute',
      runMode: 'Planned',
      snapshot: { name: 's', namespace: 'dr', digest: 'd', parts: 1 },
    },
    at: { stage: 0, workflow: 1, action: 2 },
    direction: 'forward',
    round: 0,
    name: 'step',
    type: 'HTTP',
    timeoutMs: 60_000,
    retry: { limit: 3, intervalMs: 5000, backoffMultiplier: 2, maxIntervalMs: 300_000 },
    body: { action: { name: 'step', type: 'HTTP', ...action }, params: { color: 'blue' } },
    outputs: {},
    phases: {},
    ...part,
  };
}

const handlerOf = (run: (attempt: Attempt) => Promise<AttemptResult> | AttemptResult): Handler => ({
  run: async (attempt) => run(attempt),
  undo: () => Promise.resolve({ kind: 'skipped', reason: 'Undo', message: 'the automatic inverse' }),
  settle: () =>
    Promise.resolve({ kind: 'failed', reason: 'Interrupted', message: 'found', effect: 'Unknown' }),
});

const retry = (part: Partial<Extract<AttemptResult, { kind: 'retry' }>> = {}): AttemptResult => ({
  kind: 'retry',
  reason: 'HTTPStatus',
  message: 'answered 503',
  round: 'Refused',
  ...part,
});

interface Server {
  environment: MockActivityEnvironment;
  beats: unknown[];
}

function attemptOn(info: Record<string, unknown> = {}): Server {
  const environment = new MockActivityEnvironment({ scheduledTimestampMs: Date.now(), ...info });
  const beats: unknown[] = [];
  environment.on('heartbeat', (details) => beats.push(details));
  return { environment, beats };
}

/** Runs attempts as the server does: each gets the last heartbeat of the one before. */
async function series(
  task: ActionTask,
  handler: Handler,
): Promise<{ outcome: ActionOutcome; failures: unknown[] }> {
  const failures: unknown[] = [];
  let heartbeatDetails: unknown;
  const scheduledTimestampMs = Date.now();
  for (let attempt = 1; attempt < (task.retry ?? DEFAULT_RETRY).limit + 20; attempt += 1) {
    const { environment, beats } = attemptOn({ attempt, heartbeatDetails, scheduledTimestampMs });
    try {
      return { outcome: await environment.run(runAction, task, handler, deps), failures };
    } catch (error) {
      failures.push(error);
      heartbeatDetails = beats.at(-1) ?? heartbeatDetails;
    }
  }
  throw new Error('the series did not end');
}

describe('what an action that goes on says [F13] [S3.14]', () => {
  const slow = (limit = 3, intervalMs = 5_000): ActionTask =>
    taskOf({ retry: { limit, intervalMs, backoffMultiplier: 1, maxIntervalMs: 86_400_000 } });
  const saidIn = async (work: () => Promise<unknown>): Promise<AttemptNote[]> => {
    notes.length = 0;
    await work();
    return [...notes];
  };

  it('is how the last attempt failed, the count, and when the next one comes', async () => {
    const before = Date.now();
    const said = await saidIn(() =>
      series(
        slow(),
        handlerOf(() => ({ ...retry(), afterMs: 86_400_000 })),
      ),
    );
    expect(said.map(({ retryCount }) => retryCount)).toEqual([1, 2, 3]);
    expect(said[0]).toMatchObject({ at: slow().at });
    const [, next = ''] =
      /attempt 1 of 4 failed, the next one comes at (\S+): answered 503/.exec(said[0]?.message ?? '') ?? [];
    expect(Date.parse(next)).toBeGreaterThanOrEqual(before + 86_400_000);
  });

  it('is nothing where the next attempt comes before it could be read, nor after a hundred', async () => {
    expect(
      await saidIn(() =>
        series(
          slow(3, 500),
          handlerOf(() => retry()),
        ),
      ),
    ).toEqual([]);
    const said = await saidIn(() =>
      series(
        slow(120),
        handlerOf(() => retry()),
      ),
    );
    expect(said).toHaveLength(100);
  });

  it('is what the attempt waits for, where it is news', async () => {
    const said = await saidIn(() =>
      series(
        slow(0),
        handlerOf((attempt) => {
          attempt.say('no node fits');
          attempt.say('no node fits');
          return { kind: 'succeeded' };
        }),
      ),
    );
    expect(said).toEqual([{ at: slow().at, message: 'no node fits' }]);
  });
});

describe('counting', () => {
  it('makes limit + 1 attempts, raising the round after each definite failure [S3.8]', async () => {
    const keys: string[] = [];
    const { outcome, failures } = await series(
      taskOf(),
      handlerOf(({ key }) => {
        keys.push(key);
        return retry();
      }),
    );
    expect(outcome).toEqual({
      phase: 'Failed',
      reason: 'HTTPStatus',
      message: 'failed after 4 attempts (last: answered 503)',
      effect: 'None',
      round: 3,
      retryCount: 3,
    });
    expect(failures).toHaveLength(3);
    expect(failures[0]).toMatchObject({ type: 'HTTPStatus', message: 'answered 503', nonRetryable: false });
    expect(keys).toEqual([0, 1, 2, 3].map((round) => `run-uid/s0/w1/a2/forward/${round}`));
  });

  it('makes one attempt for limit 0 [S3.3]', async () => {
    const task = taskOf({ retry: { ...DEFAULT_RETRY, limit: 0 } });
    const { outcome, failures } = await series(
      task,
      handlerOf(() => retry()),
    );
    expect(failures).toEqual([]);
    expect(outcome).toMatchObject({ phase: 'Failed', message: 'answered 503', retryCount: 0 });
  });

  it.each<[string, RoundAfter[], number[]]>([
    [
      'is kept from an unclear failure on, whoever refuses later',
      ['Unclear', 'Refused', 'Refused'],
      [0, 0, 0, 0],
    ],
    ['is kept only from there on', ['Refused', 'Unclear', 'Refused'], [0, 1, 1, 1]],
    ['is a new one once the effect was found to have ended', ['Unclear', 'Settled', 'Refused'], [0, 0, 1, 2]],
  ])('the round %s [S3.8]', async (_, answers, expected) => {
    const rounds: number[] = [];
    const { outcome } = await series(
      taskOf(),
      handlerOf(({ round }) => {
        rounds.push(round);
        return retry({ round: answers[rounds.length - 1] ?? 'Refused' });
      }),
    );
    expect(rounds).toEqual(expected);
    expect(outcome).toMatchObject({ effect: 'Unknown', round: expected.at(-1) });
  });

  it.each([
    ['lost before it', { attempt: 2, heartbeatDetails: undefined }, 0],
    ['lost after refusals', { attempt: 4, heartbeatDetails: { failures: 2, round: 2, clearTo: 2 } }, 2],
    [
      'unclear before another was lost',
      { attempt: 4, heartbeatDetails: { failures: 2, round: 1, clearTo: 1 } },
      1,
    ],
    ['given up for a shutdown', { attempt: 3, heartbeatDetails: { failures: 1, round: 1, clearTo: 1 } }, 1],
  ])('a refusal keeps the round of an attempt that was %s [SEC12] [S3.8]', async (_, info, round) => {
    const { environment, beats } = attemptOn(info);
    const attempt = environment.run(
      runAction,
      taskOf(),
      handlerOf(() => retry()),
      deps,
    );
    await expect(attempt).rejects.toMatchObject({ type: 'HTTPStatus' });
    expect(beats.at(-1)).toMatchObject({ round });
  });

  it('keeps outputs of an earlier attempt and counts retries of a success', async () => {
    let calls = 0;
    const { outcome } = await series(
      taskOf(),
      handlerOf(() => {
        calls += 1;
        return calls < 3 ? retry() : { kind: 'succeeded', message: 'ok' };
      }),
    );
    expect(outcome).toEqual({ phase: 'Succeeded', message: 'ok', round: 2, retryCount: 2 });
    const outputs = { httpResponse: { statusCode: 503 } };
    calls = 0;
    const failed = await series(
      taskOf(),
      handlerOf(() => {
        calls += 1;
        return calls === 1 ? retry({ outputs }) : retry();
      }),
    );
    expect(failed.outcome).toMatchObject({ phase: 'Failed', outputs });
  });

  it('does not count lost attempts, but knows that they may have had their effect [S3.4]', async () => {
    const details = { failures: 1, round: 1 };
    const { environment } = attemptOn({ attempt: 9, heartbeatDetails: details });
    const outcome = await environment.run(
      runAction,
      taskOf(),
      handlerOf(({ round }) => ({ kind: 'failed', reason: 'X', message: `round ${round}`, effect: 'None' })),
      deps,
    );
    expect(outcome).toMatchObject({ message: 'round 1', effect: 'Unknown', retryCount: 1 });
  });

  it('hands the memo of a handler to the next attempt of the same round only', async () => {
    const seen: unknown[] = [];
    await series(
      taskOf(),
      handlerOf((attempt) => {
        seen.push(attempt.remembered);
        attempt.remember({ call: seen.length });
        return retry({ round: seen.length === 1 ? 'Unclear' : 'Settled' });
      }),
    );
    expect(seen).toEqual([undefined, { call: 1 }, undefined, undefined]);
  });

  it('waits as the policy says after each failure, whatever was lost between', async () => {
    for (const [attempt, failures, delay] of [
      [1, 0, 5000],
      [2, 1, 10_000],
      [9, 1, 10_000],
    ]) {
      const { environment } = attemptOn({ attempt, heartbeatDetails: { failures, round: failures } });
      await expect(
        environment.run(
          runAction,
          taskOf(),
          handlerOf(() => retry()),
          deps,
        ),
      ).rejects.toMatchObject({ nextRetryDelay: delay });
    }
  });

  it('asks for a longer wait only when Retry-After exceeds the policy, and never beyond its cap [S3.6]', async () => {
    for (const [afterMs, delay] of [
      [1000, 5000],
      [60_000, 60_000],
      [86_400_000, 300_000],
    ]) {
      const { environment } = attemptOn();
      await expect(
        environment.run(
          runAction,
          taskOf(),
          handlerOf(() => retry({ afterMs })),
          deps,
        ),
      ).rejects.toMatchObject({ nextRetryDelay: delay });
    }
  });
});

describe('totalTimeout', () => {
  it('ends a series when the next attempt could not begin in time [S3.2]', async () => {
    const { environment } = attemptOn({ scheduledTimestampMs: Date.now() - 7000 });
    const outcome = await environment.run(
      runAction,
      taskOf({ totalTimeoutMs: 10_000 }),
      handlerOf(() => retry()),
      deps,
    );
    expect(outcome).toMatchObject({
      phase: 'Failed',
      reason: 'TotalTimeout',
      message: 'totalTimeout 10s is used up after 1 attempt (last: answered 503)',
    });
  });

  it('starts nothing when no time is left', async () => {
    const run = vi.fn();
    const { environment } = attemptOn({ attempt: 2, scheduledTimestampMs: Date.now() - 11_000 });
    const outcome = await environment.run(
      runAction,
      taskOf({ totalTimeoutMs: 10_000 }),
      handlerOf(run),
      deps,
    );
    expect(outcome).toMatchObject({ reason: 'TotalTimeout', effect: 'Unknown' });
    expect(run).not.toHaveBeenCalled();
  });
});

describe('interruptions', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const untilAborted = (result: (attempt: Attempt) => AttemptResult): Handler =>
    handlerOf(
      (attempt) =>
        new Promise((resolve) => {
          attempt.beforeEffect();
          attempt.signal.addEventListener('abort', () => resolve(result(attempt)));
        }),
    );
  const outputs = { httpResponse: { statusCode: 200 } };
  const interrupted = (): AttemptResult => ({
    kind: 'interrupted',
    effect: 'Unknown',
    outputs,
    message: 'x waits',
  });

  it('heartbeats within the first second, and at least once a second however many attempts run [S3.10]', async () => {
    const { environment, beats } = attemptOn();
    const heartbeats = createHeartbeats();
    const running = environment.run(runAction, taskOf(), untilAborted(interrupted), { ...deps, heartbeats });
    await vi.advanceTimersByTimeAsync(1900);
    expect(beats).toEqual(Array(4).fill({ failures: 0, round: 0 }));
    const others = Array.from({ length: 200 }, () => heartbeats.begin());
    await vi.advanceTimersByTimeAsync(4000);
    expect(beats.length).toBeGreaterThanOrEqual(7);
    expect(beats.length).toBeLessThanOrEqual(8);
    for (const ended of others) ended();
    await vi.advanceTimersByTimeAsync(2000);
    expect(beats.length).toBeGreaterThan(10);
    environment.cancel();
    await running;
  });

  it('turns a cancel into a result with outputs', async () => {
    const { environment } = attemptOn();
    const running = environment.run(runAction, taskOf(), untilAborted(interrupted), deps);
    await vi.advanceTimersByTimeAsync(500);
    environment.cancel();
    expect(await running).toEqual({
      phase: 'Failed',
      reason: 'Cancelled',
      message: 'cancelled while it ran: x waits',
      outputs,
      effect: 'Unknown',
      round: 0,
      retryCount: 0,
    });
  });

  it('lets a success win against a cancel', async () => {
    const { environment } = attemptOn();
    const running = environment.run(
      runAction,
      taskOf(),
      untilAborted(() => ({ kind: 'succeeded' })),
      deps,
    );
    await vi.advanceTimersByTimeAsync(500);
    environment.cancel();
    expect(await running).toMatchObject({ phase: 'Succeeded' });
  });

  it('leaves to settle what a cancel could not stop', async () => {
    const { environment } = attemptOn();
    const handler = untilAborted(() => {
      throw new Error('never reached');
    });
    handler.run = async (attempt) => {
      attempt.beforeEffect();
      await new Promise((_resolve, reject) => {
        attempt.signal.addEventListener('abort', () => reject(new Error('aborted in the middle')));
      });
      return { kind: 'succeeded' };
    };
    const running = environment.run(runAction, taskOf(), handler, deps);
    const ended = expect(running).rejects.toBeInstanceOf(CancelledFailure);
    await vi.advanceTimersByTimeAsync(500);
    environment.cancel();
    await ended;
  });

  it.each([
    ['a lost attempt', { attempt: 3, heartbeatDetails: { failures: 1, round: 0 } }],
    ['an ambiguous failure', { attempt: 2, heartbeatDetails: { failures: 1, round: 0, effect: 'Unknown' } }],
  ])('leaves to settle what %s may have left, when the cancel comes before it was seen', async (_, info) => {
    const { environment } = attemptOn(info);
    const handler = untilAborted(() => ({ kind: 'interrupted', effect: 'None' }));
    const running = environment.run(runAction, taskOf(), handler, deps);
    const ended = expect(running).rejects.toBeInstanceOf(CancelledFailure);
    await vi.advanceTimersByTimeAsync(500);
    environment.cancel();
    await ended;
  });

  it('counts a timeout as a failure that may have had its effect [S3.1]', async () => {
    const { environment, beats } = attemptOn({ scheduledTimestampMs: Date.now() });
    const running = environment.run(runAction, taskOf({ timeoutMs: 2000 }), untilAborted(interrupted), deps);
    const ended = expect(running).rejects.toMatchObject({ type: 'Timeout', message: 'x waits' });
    await vi.advanceTimersByTimeAsync(2000);
    await ended;
    expect(beats.at(-1)).toMatchObject({ failures: 1, round: 0, effect: 'Unknown', outputs });
  });

  it('leaves to settle, for good, what goes on after a timeout [F9]', async () => {
    const { environment } = attemptOn();
    const remains = (): AttemptResult => ({
      kind: 'interrupted',
      effect: 'Unknown',
      message: 'Job shop/j did not end within 2s',
      unsettled: true,
      isFinal: true,
    });
    const running = environment.run(runAction, taskOf({ timeoutMs: 2000 }), untilAborted(remains), deps);
    const ended = expect(running).rejects.toMatchObject({
      type: 'TimeoutUnsettled',
      nonRetryable: true,
      message: 'Job shop/j did not end within 2s',
    });
    await vi.advanceTimersByTimeAsync(2000);
    await ended;
  });

  it('keeps the key after a timeout before the effect: an attempt before it may have had one', async () => {
    const { environment, beats } = attemptOn({
      attempt: 2,
      heartbeatDetails: { failures: 1, round: 0, effect: 'Unknown' },
    });
    const notBegun = (): AttemptResult => ({ kind: 'interrupted', effect: 'None' });
    const running = environment.run(runAction, taskOf({ timeoutMs: 2000 }), untilAborted(notBegun), deps);
    const ended = expect(running).rejects.toMatchObject({ type: 'Timeout' });
    await vi.advanceTimersByTimeAsync(2000);
    await ended;
    expect(beats.at(-1)).toMatchObject({ failures: 2, round: 0, effect: 'Unknown' });
  });

  it.each([
    ['WORKER_SHUTDOWN', { workerShutdown: true }, 'WorkerShutdown', 'shutdown'],
    ['CANCELLED', { paused: true }, 'Paused', 'paused'],
    ['NOT_FOUND', { notFound: true, cancelRequested: true }, 'WorkerShutdown', 'shutdown'],
  ])('takes up an attempt again after %s without counting it', async (reason, details, type, seen) => {
    const { environment, beats } = attemptOn();
    let abortReason: unknown;
    const running = environment.run(
      runAction,
      taskOf(),
      untilAborted(({ signal }) => {
        abortReason = signal.reason;
        return interrupted();
      }),
      deps,
    );
    const ended = expect(running).rejects.toMatchObject({ type, nextRetryDelay: 1, nonRetryable: false });
    await vi.advanceTimersByTimeAsync(100);
    environment.cancel(reason as 'CANCELLED', new ActivityCancellationDetails(details));
    await ended;
    expect(abortReason).toBe(seen);
    expect(beats.at(-1)).toMatchObject({ failures: 0, round: 0 });
  });

  it('gives up before the effect when the process stood still for longer than the server waits [SEC12] [S3.10]', async () => {
    const { environment } = attemptOn({ heartbeatTimeoutMs: 8000 });
    const effect = vi.fn();
    const running = environment.run(
      runAction,
      taskOf(),
      handlerOf((attempt) => {
        vi.setSystemTime(Date.now() + 9000);
        attempt.beforeEffect();
        effect();
        return { kind: 'succeeded' };
      }),
      deps,
    );
    await expect(running).rejects.toMatchObject({ type: 'StaleAttempt', nextRetryDelay: 1 });
    expect(effect).not.toHaveBeenCalled();
  });

  it('notices standing still also when a heartbeat comes first', async () => {
    const { environment } = attemptOn({ heartbeatTimeoutMs: 8000 });
    const running = environment.run(
      runAction,
      taskOf(),
      untilAborted(() => interrupted()),
      deps,
    );
    const ended = expect(running).rejects.toMatchObject({ type: 'WorkerShutdown' });
    await vi.advanceTimersByTimeAsync(500);
    vi.setSystemTime(Date.now() + 9000);
    await vi.advanceTimersByTimeAsync(600);
    await ended;
  });
});

describe('what ends an action without its effect', () => {
  const once = (
    task: ActionTask,
    handler: Handler,
    part: Partial<AttemptDeps> = {},
  ): Promise<ActionOutcome> => attemptOn().environment.run(runAction, task, handler, { ...deps, ...part });

  it('skips when `when` is false and fails when it cannot be evaluated', async () => {
    const run = vi.fn();
    expect(await once(taskOf({}, { when: 'params.color == "red"' }), handlerOf(run))).toMatchObject({
      phase: 'Skipped',
      reason: 'WhenFalse',
    });
    expect(await once(taskOf({}, { when: 'params.nothing == 1' }), handlerOf(run))).toMatchObject({
      phase: 'Failed',
      reason: 'InvalidExpression',
      effect: 'None',
    });
    expect(run).not.toHaveBeenCalled();
  });

  it('fails without a service account unless the controller may act itself [S1.5]', async () => {
    const run = vi.fn();
    expect(await once(taskOf(), handlerOf(run), { controllerIdentity: false })).toMatchObject({
      reason: 'NoServiceAccount',
      message: expect.stringContaining('plan plans/plan') as string,
    });
    expect(run).not.toHaveBeenCalled();
  });

  it.each(['', ' ', '\t', 'Admin', 'a b', 'system:masters'])(
    'never acts as %j',
    async (serviceAccountName) => {
      const run = vi.fn();
      const task = taskOf();
      const outcome = await once({ ...task, run: { ...task.run, serviceAccountName } }, handlerOf(run));
      expect(outcome).toMatchObject({ phase: 'Failed', reason: 'NoServiceAccount' });
      expect(run).not.toHaveBeenCalled();
    },
  );

  it('acts as the service account in the namespace of the plan [S1.5]', async () => {
    const task = taskOf();
    impersonated.length = 0;
    await once(
      { ...task, run: { ...task.run, serviceAccountName: 'dr-runner' } },
      handlerOf(() => ({ kind: 'succeeded' })),
    );
    // No groups: the API server knows those of a service account.
    expect(impersonated).toEqual([{ user: 'system:serviceaccount:plans:dr-runner' }]);
  });

  it('explains a refusal of the API and does not try again', async () => {
    const outcome = await once(
      taskOf(),
      handlerOf((attempt) => {
        attempt.beforeEffect();
        throw new KubeError('jobs.batch is forbidden: User "x" cannot create', {
          code: 403,
          reason: 'Forbidden',
        });
      }),
    );
    expect(outcome).toMatchObject({ phase: 'Failed', reason: 'Forbidden', effect: 'Unknown' });
    expect(outcome.message).toContain('grant the controller');
  });

  it('tries again when the API is away, keeping the round [S3.6]', async () => {
    const { environment, beats } = attemptOn();
    const handler = handlerOf(() => {
      throw new KubeError('cannot be reached', { code: 0, reason: 'Unreachable' });
    });
    await expect(environment.run(runAction, taskOf(), handler, deps)).rejects.toBeInstanceOf(
      ApplicationFailure,
    );
    expect(beats.at(-1)).toMatchObject({ failures: 1, round: 0 });
  });

  it('shows a fault of the program as one', async () => {
    const { environment } = attemptOn();
    const handler = handlerOf(() => {
      throw new TypeError('x is undefined');
    });
    await expect(environment.run(runAction, taskOf(), handler, deps)).rejects.toMatchObject({
      type: 'InternalError',
      message: expect.stringContaining('x is undefined') as string,
    });
  });
});

describe('undo, settle and capture', () => {
  const rollback = { http: { url: 'http://x' }, type: 'HTTP' };
  const undone = taskOf({ direction: 'undo', round: 1 });
  undone.run = { ...undone.run, operation: 'Revert', target: { name: 'old', uid: 'target-uid' } };

  it('undoes with the custom rollback where there is one, under the key of what is undone [S5.47]', async () => {
    const seen: Attempt[] = [];
    const handler = handlerOf((attempt) => {
      seen.push(attempt);
      return { kind: 'succeeded' };
    });
    const custom = { ...undone, body: { action: { name: 'step', type: 'HTTP', rollback }, params: {} } };
    expect(await attemptOn().environment.run(runAction, custom, handler, deps)).toMatchObject({
      phase: 'Succeeded',
    });
    expect(seen[0]?.key).toBe('target-uid/s0/w1/a2/undo/1');
    expect(seen[0]?.action).toMatchObject({ name: 'step-rollback', http: { url: 'http://x' } });
  });

  it('uses the automatic inverse otherwise, whatever `when` says', async () => {
    const task = { ...undone, body: { action: { name: 'step', type: 'HTTP', when: 'false' }, params: {} } };
    const outcome = await attemptOn().environment.run(
      runAction,
      task,
      handlerOf(() => retry()),
      deps,
    );
    expect(outcome).toMatchObject({ phase: 'Skipped', reason: 'Undo' });
  });

  it('settles without asking `when`, and goes on until it is done', async () => {
    const task = taskOf({}, { when: 'false' });
    const handler = handlerOf(() => retry());
    const outcome = await attemptOn({ attempt: 7 }).environment.run(settleAction, task, handler, deps);
    expect(outcome).toMatchObject({ phase: 'Failed', reason: 'Interrupted', effect: 'Unknown' });
    handler.settle = () => Promise.resolve(retry());
    const late = attemptOn({ attempt: 90, heartbeatDetails: { failures: 80, round: 2 } });
    await expect(late.environment.run(settleAction, task, handler, deps)).rejects.toBeInstanceOf(
      ApplicationFailure,
    );
  });

  it('does not take for harmless what it cannot look at [F9]', async () => {
    const handler = handlerOf(() => retry());
    handler.settle = () =>
      Promise.reject(new KubeError('jobs is forbidden', { code: 403, reason: 'Forbidden' }));
    const settled = (): Promise<ActionOutcome> =>
      attemptOn().environment.run(settleAction, taskOf(), handler, deps);
    expect(await settled()).toMatchObject({
      phase: 'Failed',
      reason: 'Forbidden',
      effect: 'Unknown',
      message: expect.stringMatching(/could not be found out: jobs is forbidden/),
    });
    handler.settle = () =>
      Promise.resolve({ kind: 'failed', reason: 'Interrupted', message: 'nothing', effect: 'None' });
    expect(await settled()).toMatchObject({ effect: 'None', message: 'nothing' });
  });

  it('waits for pods as often as it takes, and gives up what cannot be found out of a Job [F9]', async () => {
    const handler = handlerOf(() => retry());
    const settled = (memo: Record<string, number>): Promise<ActionOutcome> =>
      attemptOn({ attempt: 900, heartbeatDetails: { failures: 0, round: 0, memo } }).environment.run(
        settleAction,
        taskOf({ type: 'Job', stop: { waitMs: 1000, tries: 3 } }),
        handler,
        deps,
      );
    handler.settle = () =>
      Promise.resolve(retry({ reason: 'PodsRemain', message: 'pod a', round: 'Unclear' }));
    await expect(settled({ failed: 2 })).rejects.toMatchObject({ type: 'PodsRemain' });
    handler.settle = () => Promise.resolve(retry({ reason: 'NotDeleted', message: 'no answer' }));
    await expect(settled({ failed: 1 })).rejects.toMatchObject({ type: 'NotDeleted' });
    expect(await settled({ failed: 2 })).toMatchObject({
      phase: 'Failed',
      effect: 'Unknown',
      outputs: { stopUnconfirmed: ['Job of action "step"'] },
    });
  });

  it('captures where the type can, and passes on why it could not [S3.15]', async () => {
    const handler = handlerOf(() => retry());
    const capture = (): Promise<unknown> =>
      attemptOn().environment.run(captureAction, taskOf(), handler, deps);
    expect(await capture()).toEqual({ kind: 'none' });
    const prior = { name: 's', key: 'prior.json', digest: 'd' };
    handler.capture = () => Promise.resolve({ kind: 'captured', prior });
    expect(await capture()).toEqual({ kind: 'captured', prior });
    handler.capture = () =>
      Promise.reject(new KubeError('no such kind', { code: 404, reason: 'KindNotFound' }));
    expect(await capture()).toEqual({ kind: 'failed', reason: 'KindNotFound', message: 'no such kind' });
    handler.capture = () => Promise.reject(new KubeError('away', { code: 503, reason: 'HTTP503' }));
    await expect(capture()).rejects.toMatchObject({ type: 'HTTP503' });
  });
});
