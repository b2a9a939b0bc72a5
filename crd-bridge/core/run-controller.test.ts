import { describe, expect, it } from 'vitest';
import type { RunDescription, Runs } from '../../client/runs/runs.js';
import type { Cacheable } from '../../kube/informer.js';
import type { Delivery, RunKind, RunView, StartDecision } from './kind.js';
import { createRunController } from './run-controller.js';
import { createStartRoom } from './start-room.js';

const OPEN: RunView = {
  ended: false,
  goesOn: false,
  spoken: false,
  cancelKnown: false,
  deliveries: [],
  deleting: false,
  held: true,
  inherited: false,
  forceRelease: false,
};
const object: Cacheable = { metadata: { name: 'o', namespace: 'ns', uid: 'u' } };

/** A kind that records its calls, and a Temporal that answers as the test wants. */
function setup(view: Partial<RunView> = {}) {
  const world = {
    now: 1_000_000,
    calls: [] as string[],
    view: { ...OPEN, ...view },
    run: undefined as RunDescription | undefined,
    /** The run of the recorded run id, where another one is the newest. */
    recorded: undefined as RunDescription | undefined,
    unreachable: false,
    stillActing: undefined as number | undefined,
    again: undefined as number | undefined,
    starting: false,
    isOwn: true,
    mayBegin: true,
    where: { clusterId: 'this', namespaceId: 'here' },
    decision: undefined as StartDecision | undefined,
    refusal: undefined as Error | undefined,
  };
  const note =
    (name: string) =>
    (...args: unknown[]) => {
      world.calls.push([name, ...args.slice(1).filter((arg) => typeof arg === 'string')].join(' '));
      return Promise.resolve();
    };
  const kind: RunKind<Cacheable> = {
    words: { one: 'object', several: 'objects' },
    workflowType: 'work',
    idPrefix: 'id',
    state: () => world.view,
    view: () => world.view,
    workflowId: () => 'id',
    logFields: () => ({ execution: 'ns/object' }),
    prepareStart: () => {
      world.calls.push('prepareStart');
      if (world.refusal !== undefined) return Promise.reject(world.refusal);
      return Promise.resolve(
        world.decision ?? {
          kind: 'start',
          prepared: { start, adopt: () => Promise.resolve(world.isOwn), record: note('record') },
        },
      );
    },
    isStarting: () => Promise.resolve(world.starting),
    cancelBeforeStart: note('cancelBeforeStart'),
    alive: async () => {
      await note('alive')();
      return world.again;
    },
    held: note('held'),
    closed: async () => {
      await note('closed')();
      return world.stillActing;
    },
    lost: note('lost'),
    mismatch: note('mismatch'),
    blocked: note('blocked'),
    beforeRelease: note('beforeRelease'),
    disown: note('disown'),
    release: note('release'),
  };
  const start = () => {
    world.calls.push('start');
    if (world.run?.state === 'Completed') return Promise.resolve({ kind: 'exists' as const });
    world.run ??= running;
    return Promise.resolve({ kind: 'started' as const, runId: 'r' });
  };
  const runs: Pick<Runs, 'describe' | 'signalCancel' | 'terminate' | 'where'> = {
    where: () => Promise.resolve(world.where),
    describe: (_, { runId } = {}) => {
      world.calls.push('describe');
      if (runId !== undefined) return Promise.resolve(world.recorded);
      return world.unreachable ? Promise.reject(new Error('unreachable')) : Promise.resolve(world.run);
    },
    terminate: (_, reason) => {
      world.calls.push(`terminate ${reason}`);
      if (world.run?.state !== 'Running') return Promise.resolve('notRunning');
      world.run = { ...world.run, state: 'Terminated' };
      return Promise.resolve('accepted');
    },
    signalCancel: (_, request) => {
      world.calls.push(`signal ${request.via}`);
      return Promise.resolve(world.run?.state === 'Running' ? 'accepted' : 'notRunning');
    },
  };
  const silent = (): void => undefined;
  const woken: string[] = [];
  const room = createStartRoom({ places: 1, holdMs: 60_000, wake: (key) => woken.push(key) });
  const controller = createRunController({
    kind,
    runs: runs,
    temporal: { clusterId: 'this', namespaceId: 'here' },
    times: { silenceMs: 60_000, firstLookMs: 30_000, deleteWaitMs: 120_000 },
    log: { debug: silent, info: silent, warn: silent, error: silent },
    onStart: silent,
    room,
    mayBegin: () => world.mayBegin,
    now: () => world.now,
  });
  const reconcile = async () => {
    world.calls.length = 0;
    const after = await controller.reconcile(object);
    return { after, calls: [...world.calls] };
  };
  return { world, controller, reconcile, room, woken };
}

const running: RunDescription = {
  workflowId: 'id',
  runId: 'r',
  firstRunId: 'r',
  state: 'Running',
  startTime: new Date(0),
};
const recorded = { run: { workflowId: 'id', runId: 'r', firstRunId: 'r', namespaceId: 'here' } };

describe('what keeps an object from being brought forward [F2] [S5.7]', () => {
  it('is told when it goes on for longer than a second, and is tried again all the same', async () => {
    const { world, reconcile } = setup();
    world.refusal = new Error('no room on the disk');
    await expect(reconcile()).rejects.toThrow('no room');
    expect(world.calls).toEqual(['prepareStart']);
    world.now += 1_000;
    await expect(reconcile()).rejects.toThrow('no room');
    expect(world.calls).toEqual([
      'prepareStart',
      expect.stringMatching(/^held InternalError .*no room on the disk.*tried again/),
    ]);
    world.refusal = undefined;
    expect((await reconcile()).calls).toEqual(['prepareStart', 'start', 'record']);
  });

  it('is told of a deletion too', async () => {
    const { world, reconcile } = setup({ deleting: true, ...recorded });
    world.unreachable = true;
    await expect(reconcile()).rejects.toThrow('unreachable');
    world.now += 1_000;
    await expect(reconcile()).rejects.toThrow('unreachable');
    expect(world.calls.filter((call) => call.startsWith('blocked InternalError'))).toHaveLength(1);
  });

  it('is that others are before it, once it has waited for its turn for four seconds [S5.16]', async () => {
    const { world, reconcile, room } = setup();
    room.enter('another', 'ns/another');
    expect(await reconcile()).toEqual({ after: 4_000, calls: [] });
    world.now += 4_000;
    const { after, calls } = await reconcile();
    expect(after).toBeUndefined();
    expect(calls).toEqual([expect.stringMatching(/^held WaitingForTurn 1 objects wait/)]);
    // Its own write brings the object up again, when the number that waits has changed.
    room.enter('third', 'ns/third');
    expect(await reconcile()).toEqual({ after: undefined, calls: [] });
    room.leave('another');
    expect((await reconcile()).calls).toEqual(['prepareStart', 'start', 'record']);
  });
});

describe('a run that is looked at', () => {
  it('is looked at again as soon as its kind says [F0] [S5.50]', async () => {
    const { world, reconcile } = setup(recorded);
    world.run = running;
    world.again = 11_000;
    expect(await reconcile()).toEqual({ after: 11_000, calls: ['describe', 'alive'] });
    world.again = undefined;
    world.now += 11_000;
    expect(await reconcile()).toEqual({ after: 60_000, calls: ['describe', 'alive'] });
  });
});

describe('an object without a run', () => {
  it('is prepared, started and recorded, and looked at once more if nothing is heard [S5.2]', async () => {
    const { reconcile } = setup();
    expect(await reconcile()).toEqual({ after: 30_000, calls: ['prepareStart', 'start', 'record'] });
  });

  it('is recorded from a run that an interrupted start has left', async () => {
    const { world, reconcile } = setup();
    world.run = { ...running, state: 'Completed' };
    expect((await reconcile()).calls).toEqual(['prepareStart', 'start', 'describe', 'record']);
  });

  it('is not given a workflow that the bridge has not started', async () => {
    const { world, reconcile } = setup();
    world.run = { ...running, state: 'Completed' };
    world.isOwn = false;
    expect(await reconcile()).toEqual({
      after: undefined,
      calls: ['prepareStart', 'start', 'describe'],
    });
  });

  it('waits, or stays refused', async () => {
    const { world, reconcile } = setup();
    world.decision = { kind: 'wait', ms: 7 };
    expect(await reconcile()).toEqual({ after: 7, calls: ['prepareStart'] });
    world.decision = { kind: 'refused' };
    expect(await reconcile()).toEqual({ after: undefined, calls: ['prepareStart'] });
  });

  it('is cancelled at once, but only when Temporal knows no run of it', async () => {
    const { world, reconcile } = setup({ cancel: { via: 'Annotation' } });
    expect((await reconcile()).calls).toEqual(['describe', 'cancelBeforeStart']);
    world.run = running;
    expect((await reconcile()).calls).toEqual(['describe', 'prepareStart', 'start', 'record']);
  });

  it('waits where too many runs are not taken up yet, is woken when one is, and then is started [S5.16] [S6.13]', async () => {
    const { reconcile, room, woken } = setup();
    room.enter('another', 'ns/another');
    expect(await reconcile()).toEqual({ after: 4_000, calls: [] });
    room.leave('another');
    expect(woken).toEqual(['ns/o']);
    expect((await reconcile()).calls).toEqual(['prepareStart', 'start', 'record']);
  });

  it('is cancelled at once while it waits, and waits no more [S5.16] [S6.13]', async () => {
    const { world, reconcile, room, woken } = setup();
    room.enter('another', 'ns/another');
    await reconcile();
    world.view = { ...world.view, cancel: { via: 'Annotation' } };
    expect((await reconcile()).calls).toEqual(['describe', 'cancelBeforeStart']);
    room.leave('another');
    expect(woken).toEqual([]);
  });

  it('keeps its place until its run is heard of, shows it, or has ended, and after a start that failed', async () => {
    for (const [view, tells] of [
      [recorded, true],
      [{ ...recorded, spoken: true }, false],
      [{ ...recorded, ended: true }, false],
    ] as const) {
      const { world, controller, reconcile, room } = setup();
      await reconcile();
      world.view = { ...world.view, ...view };
      expect(room.enter('next', 'ns/next')).toBe(false);
      if (tells) controller.heard('u');
      else await reconcile();
      expect(room.enter('next', 'ns/next')).toBe(true);
    }
    const { world, reconcile, room } = setup({ cancel: {} });
    world.unreachable = true;
    await expect(reconcile()).rejects.toThrow('unreachable');
    expect(room.waiting).toBe(0);
  });

  it('gives its place back when it is refused or has to wait', async () => {
    for (const decision of [{ kind: 'refused' }, { kind: 'wait', ms: 7 }] as const) {
      const { world, reconcile, room } = setup();
      world.decision = decision;
      await reconcile();
      expect(room.enter('next', 'ns/next')).toBe(true);
    }
  });

  it('is not held up where a run goes on that it belongs to', async () => {
    const { reconcile, room } = setup({ goesOn: true });
    room.enter('another', 'ns/another');
    expect((await reconcile()).calls).toEqual(['prepareStart', 'start', 'record']);
  });

  it('is neither ended nor let go while another replica may be about to start it, for 15 seconds', async () => {
    for (const [view, end] of [
      [{ cancel: {} }, ['cancelBeforeStart']],
      [{ deleting: true }, ['beforeRelease neverStarted', 'release']],
    ] as const) {
      const { world, reconcile } = setup(view);
      world.starting = true;
      expect(await reconcile()).toEqual({ after: 1000, calls: ['describe'] });
      world.now += 14_999;
      expect(await reconcile()).toEqual({ after: 1000, calls: ['describe'] });
      world.now += 1;
      expect((await reconcile()).calls).toEqual(['describe', ...end]);
    }
  });
});

describe('while another controller may act', () => {
  it('nothing is begun, ended or let go that has no run of ours [S5.14]', async () => {
    const { world, reconcile } = setup();
    world.mayBegin = false;
    expect(await reconcile()).toEqual({ after: undefined, calls: [] });
    for (const view of [
      { cancel: {} },
      { deleting: true, held: false },
      { ended: true, inherited: true },
    ] satisfies Partial<RunView>[]) {
      const theirs = setup(view);
      theirs.world.mayBegin = false;
      expect((await theirs.reconcile()).calls).toEqual([]);
    }
  });

  it('a run of ours goes on, and what we hold can be deleted', async () => {
    const { world, reconcile } = setup(recorded);
    world.mayBegin = false;
    world.run = running;
    expect((await reconcile()).calls).toEqual(['describe', 'alive']);
    const deleted = setup({ deleting: true });
    deleted.world.mayBegin = false;
    expect((await deleted.reconcile()).calls).toEqual(['describe', 'beforeRelease neverStarted', 'release']);
  });
});

it('the finalizer of a predecessor is taken off what has ended [S1.11]', async () => {
  const { reconcile } = setup({ ended: true, inherited: true });
  expect((await reconcile()).calls).toEqual(['disown']);
});

describe('an object with a run', () => {
  it('is followed as it was recorded where somebody else has taken its workflow id [F17]', async () => {
    const { world, reconcile } = setup({ run: { workflowId: 'id', runId: 'r' } });
    world.run = { ...running, runId: 'x', firstRunId: 'x' };
    // Temporal knows the recorded run no more.
    world.recorded = undefined;
    expect((await reconcile()).calls).toEqual(['describe', 'describe', 'lost']);
    world.recorded = { ...running, state: 'Terminated' };
    world.now += 60_000;
    expect((await reconcile()).calls).toEqual(['describe', 'describe', 'closed']);
  });

  it('is looked at once after a start of the bridge, then only after a minute of silence', async () => {
    const { world, controller, reconcile } = setup(recorded);
    world.run = running;
    expect(await reconcile()).toEqual({ after: 60_000, calls: ['describe', 'alive'] });
    world.now += 59_000;
    expect(await reconcile()).toEqual({ after: 1000, calls: [] });
    controller.heard('u');
    world.now += 59_000;
    expect((await reconcile()).calls).toEqual([]);
    world.now += 1000;
    expect((await reconcile()).calls).toEqual(['describe', 'alive']);
  });

  it('is concluded when its run has closed or is lost [S5.15]', async () => {
    const { world, reconcile } = setup(recorded);
    world.run = { ...running, state: 'Terminated' };
    expect((await reconcile()).calls).toEqual(['describe', 'closed']);
    const lost = setup(recorded);
    expect((await lost.reconcile()).calls).toEqual(['describe', 'lost']);
  });

  it('is looked at again, and not let go, while parts of a closed run still act', async () => {
    const { world, controller, reconcile } = setup(recorded);
    world.run = { ...running, state: 'Terminated' };
    world.stillActing = 2000;
    expect(await reconcile()).toEqual({ after: 2000, calls: ['describe', 'closed'] });
    controller.heard('u');
    world.now += 2000;
    expect((await reconcile()).calls).toEqual(['describe', 'closed']);
    const deleted = setup({ ...recorded, deleting: true });
    deleted.world.run = { ...running, state: 'Terminated' };
    deleted.world.stillActing = 2000;
    expect(await deleted.reconcile()).toEqual({ after: 2000, calls: ['describe', 'closed'] });
    deleted.world.stillActing = undefined;
    expect((await deleted.reconcile()).calls).toEqual([
      'describe',
      'closed',
      'beforeRelease ended',
      'release',
    ]);
  });

  it('is left alone while another Temporal is connected than the one it runs in', async () => {
    const { reconcile } = setup({ run: { workflowId: 'id', namespaceId: 'elsewhere' }, cancel: {} });
    expect((await reconcile()).calls).toEqual(['mismatch']);
    const deleted = setup({ run: { workflowId: 'id', namespaceId: 'elsewhere' }, deleting: true });
    expect((await deleted.reconcile()).calls).toEqual(['mismatch']);
    const restored = setup({ run: { workflowId: 'id', clusterId: 'another', namespaceId: 'here' } });
    expect((await restored.reconcile()).calls).toEqual(['mismatch']);
  });

  it('is left alone too when the Temporal that does not know it turns out to be a new one at the old address [S5.15]', async () => {
    const { world, reconcile } = setup(recorded);
    world.where = { clusterId: 'this', namespaceId: 'new' };
    expect((await reconcile()).calls).toEqual(['describe', 'mismatch']);
    const deleted = setup({ ...recorded, deleting: true });
    deleted.world.where = { clusterId: 'this', namespaceId: 'new' };
    expect((await deleted.reconcile()).calls).toEqual(['describe', 'mismatch']);
  });

  it('ends when a person says that its Temporal will not come back, and only where another is connected [S5.61]', async () => {
    const isTemporalLost = true;
    const cancel = { via: 'Annotation' as const };
    const elsewhere = {
      run: { workflowId: 'id', namespaceId: 'elsewhere' },
      cancel,
      isTemporalLost,
    } as const;
    expect((await setup(elsewhere).reconcile()).calls).toEqual(['lost']);
    expect((await setup({ ...elsewhere, deleting: true }).reconcile()).calls).toEqual(['lost']);
    const anew = setup({ ...recorded, cancel, isTemporalLost });
    anew.world.where = { clusterId: 'this', namespaceId: 'new' };
    expect((await anew.reconcile()).calls).toEqual(['signal Annotation', 'describe', 'lost']);
    const here = setup({ ...recorded, cancel, isTemporalLost });
    here.world.run = running;
    expect((await here.reconcile()).calls).toEqual(['signal Annotation', 'describe', 'alive']);
  });

  it('is told of a cancel once, and not when the run knows already', async () => {
    const { world, controller, reconcile } = setup({ ...recorded, cancel: { via: 'Annotation' } });
    world.run = running;
    expect((await reconcile()).calls).toEqual(['signal Annotation', 'describe', 'alive']);
    expect((await reconcile()).calls).toEqual([]);
    controller.forget('u');
    world.view.cancelKnown = true;
    expect((await reconcile()).calls).toEqual(['describe', 'alive']);
  });

  it('is ended once, without being asked, where that is what is wanted, and then concluded [S5.59]', async () => {
    const { world, reconcile } = setup(recorded);
    world.run = running;
    await reconcile();
    world.view = { ...world.view, cancel: {}, terminate: { reason: 'why' } };
    expect((await reconcile()).calls).toEqual(['terminate why', 'describe', 'closed']);
    // Somebody has reset it, to let it go on.
    world.run = running;
    world.now += 60_000;
    expect((await reconcile()).calls).toEqual(['describe', 'alive']);
  });

  it('is ended so too while it is being deleted, and let go', async () => {
    const { world, reconcile } = setup({ ...recorded, deleting: true, terminate: { reason: 'why' } });
    world.run = running;
    world.stillActing = 2000;
    expect(await reconcile()).toEqual({ after: 2000, calls: ['terminate why', 'describe', 'closed'] });
    world.stillActing = undefined;
    expect((await reconcile()).calls).toEqual(['describe', 'closed', 'beforeRelease ended', 'release']);
  });

  it('is looked at when the cancel finds the run closed', async () => {
    const { world, reconcile } = setup(recorded);
    world.run = running;
    await reconcile();
    world.run = { ...running, state: 'Failed' };
    world.view = { ...world.view, cancel: {} };
    expect((await reconcile()).calls).toEqual(['signal undefined', 'describe', 'closed']);
  });

  it('is told of each message once', async () => {
    const { world, controller } = setup({ run: { workflowId: 'id' } });
    world.run = running;
    const delivery = (id: string): Delivery => ({
      id,
      about: {},
      send: (workflowId) => {
        world.calls.push(`deliver ${id} to ${workflowId}`);
        return Promise.resolve('accepted');
      },
    });
    world.view.deliveries = [delivery('one')];
    await controller.reconcile(object);
    world.view.deliveries = [delivery('one'), delivery('two')];
    await controller.reconcile(object);
    expect(world.calls.filter((call) => call.startsWith('deliver'))).toEqual([
      'deliver one to id',
      'deliver two to id',
    ]);
  });

  it('costs nothing once it has ended', async () => {
    const { reconcile } = setup({ ...recorded, ended: true });
    expect(await reconcile()).toEqual({ after: undefined, calls: [] });
  });
});

describe('a deletion', () => {
  it('cancels the run once and waits for its end', async () => {
    const { world, reconcile } = setup({ ...recorded, deleting: true });
    world.run = running;
    expect(await reconcile()).toEqual({ after: 2000, calls: ['describe', 'signal Delete'] });
    expect((await reconcile()).calls).toEqual(['describe']);
    world.view.ended = true;
    expect((await reconcile()).calls).toEqual(['beforeRelease ended', 'release']);
  });

  it('lets go after two minutes of an accepted cancel, never before [S5.35]', async () => {
    const { world, reconcile } = setup({ ...recorded, deleting: true });
    world.run = running;
    await reconcile();
    world.now += 119_000;
    expect((await reconcile()).calls).toEqual(['describe']);
    world.now += 1000;
    expect((await reconcile()).calls).toEqual(['describe', 'beforeRelease late', 'release']);
  });

  it('waits for a Temporal that does not answer, unless a person releases it [S5.36]', async () => {
    const { world, reconcile } = setup({ ...recorded, deleting: true });
    world.unreachable = true;
    await expect(reconcile()).rejects.toThrow('unreachable');
    expect(world.calls).toContain(
      'blocked TemporalUnreachable waiting for Temporal to cancel run "id": unreachable',
    );
    world.view.forceRelease = true;
    expect((await reconcile()).calls).toEqual(['beforeRelease forced', 'release']);
  });

  it('of what never started, was lost, or has closed, lets go at once', async () => {
    expect((await setup({ deleting: true }).reconcile()).calls).toEqual([
      'describe',
      'beforeRelease neverStarted',
      'release',
    ]);
    expect((await setup({ ...recorded, deleting: true }).reconcile()).calls).toEqual([
      'describe',
      'beforeRelease lost',
      'release',
    ]);
    const closed = setup({ ...recorded, deleting: true });
    closed.world.run = { ...running, state: 'Terminated' };
    expect((await closed.reconcile()).calls).toEqual([
      'describe',
      'closed',
      'beforeRelease ended',
      'release',
    ]);
  });

  it('of what has ended waits while somebody needs it, unless a person releases it', async () => {
    const needed = { reason: 'InUse', message: 'another needs it' };
    const { world, reconcile } = setup({ ...recorded, ended: true, deleting: true, needed });
    expect(await reconcile()).toEqual({ after: 2000, calls: ['blocked InUse another needs it'] });
    world.view.forceRelease = true;
    expect((await reconcile()).calls).toEqual(['beforeRelease ended', 'release']);
    const free = setup({ ...recorded, ended: true, deleting: true });
    expect((await free.reconcile()).calls).toEqual(['beforeRelease ended', 'release']);
  });

  it('only takes old finalizers away where ours is not there [S1.11]', async () => {
    const { reconcile } = setup({ deleting: true, held: false });
    expect((await reconcile()).calls).toEqual(['release']);
  });
});
