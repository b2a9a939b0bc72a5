/** Waits at the boundaries for what the schedule wants struck there. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Boundary, Referee, Passage, Role, Ruling, Side } from './boundaries.js';
import { PASS } from './boundaries.js';
import { eventually } from './insist.js';
import { actFromOutside } from './outside.js';
import type { OutsideTargets } from './outside.js';
import type { Plant } from './plant.js';
import { nameOf } from './schedule.js';
import type { Fault } from './schedule.js';

/** A fault that struck a live run. */
export interface Struck {
  fault: Fault;
  journey: string;
  at: Date;
  /** Milliseconds until something of the same journey passed a boundary again. */
  resumedMs?: number;
}

export interface Striker {
  referee: Referee;
  readonly pending: readonly Fault[];
  readonly struck: readonly Struck[];
  /** Does something once, at the first passage of a journey there. Resolves when it is done. */
  trap(boundary: Boundary, side: Side, journey: string, work: () => Promise<Ruling>): Promise<void>;
  /** Nothing strikes before this, and nothing after `stop`. */
  begin(plant: Plant): void;
  stop(): void;
}

export interface StrikerOptions {
  faults: readonly Fault[];
  isLive: (journey: string) => boolean;
  log: (line: string) => void;
  /** Runs that may be acted upon from outside. */
  outside: OutsideTargets;
  /** Least time between two faults that take a process away, in milliseconds. */
  restMs: number;
}

export function createStriker({ faults, isLive, log, outside, restMs }: StrikerOptions): Striker {
  const pending = [...faults];
  const struck: Struck[] = [];
  const traps = new Map<string, () => Promise<Ruling>>();
  const trapKey = (boundary: Boundary, side: Side, journey: string): string =>
    `${journey} ${side} ${boundary}`;
  let plant: Plant | undefined;
  let restUntil = 0;
  let isBusy = false;

  /** Whether a fault can strike now and be told from the one before it. */
  function isPossible({ strike }: Fault, on: Plant, passage: Passage): boolean {
    switch (strike.kind) {
      case 'kill':
      case 'term':
      case 'pause':
      case 'clock':
        return !isBusy && Date.now() >= restUntil && isUp(on, strike.role, passage);
      case 'stale':
        return !isBusy && Date.now() >= restUntil && passage.source.startsWith('bridge-');
      case 'unreachable':
      case 'weather':
      case 'disk':
        return !isBusy && Date.now() >= restUntil;
      case 'outside': {
        const target = outside.get(passage.journey);
        return (
          !isBusy &&
          Date.now() >= restUntil &&
          isUp(on, 'temporal', passage) &&
          target?.act === strike.act &&
          target.workflowId() !== undefined
        );
      }
      case 'answer':
      case 'cut':
      case 'half-close':
      case 'delay':
      case 'watch':
        return true;
    }
  }
  const isUp = (on: Plant, role: Role, passage: Passage): boolean =>
    (['etcd', 'apiserver', 'temporal'] as const).every((server) => on.processes(server)[0]?.ready) &&
    on.processes(role, passage.source).every((child) => child.ready);

  async function execute(fault: Fault, on: Plant, passage: Passage): Promise<Ruling> {
    const { strike } = fault;
    switch (strike.kind) {
      case 'kill':
      case 'term': {
        const signal = strike.kind === 'kill' ? 'SIGKILL' : 'SIGTERM';
        const deaths = on.processes(strike.role, passage.source).map((child) => child.kill(signal));
        // A process that is told to end may want this very answer first.
        if (signal === 'SIGTERM') return PASS;
        await Promise.all(deaths);
        return endsHere(strike.role, passage) ? { kind: 'cut' } : PASS;
      }
      case 'pause': {
        const children = on.processes(strike.role, passage.source);
        for (const child of children) child.pause();
        void sleep(strike.ms).then(() => {
          for (const child of children) child.resume();
        });
        return PASS;
      }
      case 'answer':
        return { kind: 'answer', status: strike.status };
      case 'cut':
      case 'half-close':
        return { kind: strike.kind };
      case 'delay':
        await sleep(strike.ms);
        return PASS;
      case 'stale': {
        const children = on.processes('bridge', passage.source);
        for (const child of children) child.pause();
        await sleep(strike.ms);
        for (const child of children) child.resume();
        return PASS;
      }
      case 'clock':
        await on.setClock(strike.role, strike.ms);
        return PASS;
      case 'disk':
        void on.fillDisk(strike.ms);
        return PASS;
      case 'watch':
        for (const { kube } of on.instances) kube.strikeWatches(strike.fault);
        return PASS;
      case 'weather':
        for (const { kube } of on.instances) {
          const { status } = strike;
          const ruling: Ruling = status === 'cut' ? { kind: 'cut' } : { kind: 'answer', status };
          kube.weather({ until: Date.now() + strike.ms, share: 0.6, ruling });
        }
        return PASS;
      case 'unreachable':
        for (const { temporal } of on.instances) {
          temporal.weather({ until: Date.now() + strike.ms, share: 1 });
        }
        return PASS;
      case 'outside': {
        const target = outside.get(passage.journey);
        outside.delete(passage.journey);
        const workflowId = target?.workflowId();
        if (workflowId === undefined) throw new Error(`${passage.journey} has no run to act upon`);
        await eventually(
          `${strike.act} of ${workflowId}`,
          () =>
            actFromOutside(on.temporal, workflowId, strike.act).then(
              () => true,
              () => undefined,
            ),
          30_000,
        ).then(target?.done);
        return PASS;
      }
    }
  }

  return {
    pending,
    struck,
    begin: (on) => {
      plant = on;
    },
    stop: () => {
      plant = undefined;
    },
    trap: (boundary, side, journey, work) =>
      new Promise((resolve, reject) => {
        traps.set(trapKey(boundary, side, journey), async () => {
          try {
            const ruling = await work();
            resolve();
            return ruling;
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
            return PASS;
          }
        });
      }),
    async referee(passage) {
      const key = trapKey(passage.boundary, passage.side, passage.journey);
      const trap = traps.get(key);
      if (trap !== undefined) {
        traps.delete(key);
        return trap();
      }
      for (const earlier of struck) {
        if (earlier.journey !== passage.journey || earlier.resumedMs !== undefined) continue;
        earlier.resumedMs = Date.now() - earlier.at.getTime();
      }
      const on = plant;
      if (on === undefined || !isLive(passage.journey)) return PASS;
      const index = pending.findIndex(
        (fault) =>
          fault.boundary === passage.boundary &&
          fault.side === passage.side &&
          isPossible(fault, on, passage),
      );
      const fault = pending[index];
      if (fault === undefined) return PASS;
      if (fault.skip > 0) {
        fault.skip -= 1;
        return PASS;
      }
      pending.splice(index, 1);
      struck.push({ fault, journey: passage.journey, at: new Date() });
      log(
        `${String(struck.length).padStart(3)}  ${nameOf(fault.strike)} ${fault.side} ${fault.boundary} of ${passage.journey} (${passage.what})`,
      );
      const takesAway = TAKES_AWAY.has(fault.strike.kind);
      if (takesAway) isBusy = true;
      try {
        return await execute(fault, on, passage);
      } finally {
        if (takesAway) {
          isBusy = false;
          restUntil = Date.now() + restMs;
        }
      }
    },
  };
}

/** Strikes that must be told apart in time. One that only holds its own passage up does not keep others waiting. */
const TAKES_AWAY: ReadonlySet<Fault['strike']['kind']> = new Set([
  'kill',
  'term',
  'pause',
  'clock',
  'disk',
  'weather',
  'unreachable',
  'outside',
]);

/** Whether what passes ends with the process, as one of the two who speak is gone. */
function endsHere(role: Role, { boundary, source }: Passage): boolean {
  if (source.startsWith(role)) return true;
  if (boundary === 'effect-http') return false;
  const isTemporal = [
    'start',
    'workflow-task',
    'activity-start',
    'activity-completion',
    'mirror-step',
    'cancel',
  ];
  return isTemporal.includes(boundary) ? role === 'temporal' : role === 'apiserver';
}
