/** The faults of a session: which strikes where, from a seed. */
import { boundaryNames, ROLES } from './boundaries.js';
import type { Boundary, Role, Side } from './boundaries.js';
import type { Only } from './options.js';
import { OUTSIDE_ACTS } from './outside.js';
import type { OutsideAct } from './outside.js';
import type { Random } from './random.js';
import type { WatchFault } from './watch-faults.js';

/** What is done at a boundary. */
export type Strike =
  | { kind: 'kill'; role: Role }
  | { kind: 'term'; role: 'bridge' | 'worker' }
  | { kind: 'pause'; role: Role; ms: number }
  /** The sender gets an error instead of the answer. */
  | { kind: 'answer'; status: number }
  /** The connection breaks, or is closed by one side, instead of an answer. */
  | { kind: 'cut' }
  | { kind: 'half-close' }
  /** What passes is held up. Longer than its sender waits is as good as lost. */
  | { kind: 'delay'; ms: number }
  /** A bridge stands still with a write under way, which arrives when it goes on: long after others wrote. */
  | { kind: 'stale'; ms: number }
  /** The clock of bridges or workers jumps. */
  | { kind: 'clock'; role: 'bridge' | 'worker'; ms: number }
  /** No space is left for etcd and Temporal. */
  | { kind: 'disk'; ms: number }
  | { kind: 'watch'; fault: WatchFault }
  /** A share of all requests of a bridge or worker fails for a time. */
  | { kind: 'weather'; status: number | 'cut'; ms: number }
  /** Temporal cannot be reached for a time. */
  | { kind: 'unreachable'; ms: number }
  /** Somebody ends, resets or cancels the run in Temporal. */
  | { kind: 'outside'; act: OutsideAct };

export interface Fault {
  boundary: Boundary;
  side: Side;
  strike: Strike;
  /** Chances that are let pass first. */
  skip: number;
}

/** Boundaries that are requests to the API server, and to Temporal; the others belong to neither. */
const KUBE: readonly Boundary[] = [
  'stamp',
  'snapshot',
  'lock',
  'start-recorded',
  'capture',
  'effect-job',
  'effect-object',
  'status-write',
  'plan-end',
  'run-end',
  'finalizer',
];
/** Where a run and its stage are surely under way. */
const INSIDE: readonly Boundary[] = ['activity-start', 'activity-completion', 'effect-http'];

const sidesOf = (boundary: Boundary): readonly Side[] =>
  boundary === 'activity-start' ? ['before'] : ['before', 'after'];

/** Every cell of boundaries × processes. */
export const cells = (): { boundary: Boundary; role: Role }[] =>
  boundaryNames.flatMap((boundary) => ROLES.map((role) => ({ boundary, role })));

/** Whether a session is so long that every cell has to be struck. */
export const isLong = ({ count, only }: Pick<ScheduleOptions, 'count' | 'only'>): boolean =>
  only === undefined && count >= cells().length * 1.3;

/** How a strike is called in tables. */
export function nameOf(strike: Strike): string {
  switch (strike.kind) {
    case 'kill':
      return `kill -9 ${strike.role}`;
    case 'term':
      return `SIGTERM ${strike.role}`;
    case 'pause':
      return `SIGSTOP ${strike.role}`;
    case 'answer':
      return `answer ${strike.status}`;
    case 'cut':
      return 'connection cut';
    case 'half-close':
      return 'connection half closed';
    case 'delay':
      return `delay ${strike.ms / 1000} s`;
    case 'stale':
      return 'stale write of a bridge';
    case 'clock':
      return `clock of ${strike.role} ${strike.ms < 0 ? 'back' : 'forward'}`;
    case 'disk':
      return 'disk full';
    case 'watch':
      return `watch: ${strike.fault.kind}`;
    case 'weather':
      return `storm of ${strike.status === 'cut' ? 'cuts' : strike.status}`;
    case 'unreachable':
      return 'Temporal unreachable';
    case 'outside':
      return `outside: ${strike.act}`;
  }
}

export interface ScheduleOptions {
  random: Random;
  /** How many faults there are. */
  count: number;
  /** Only this. */
  only?: Only | undefined;
  /** How long what stands still does so, in milliseconds. */
  pauseMs: number;
  /** Whether the disk can be filled. */
  disk: boolean;
}

/** Makes the faults of a session, in the order in which they want to strike. */
export function schedule({ random, count, only, pauseMs, disk }: ScheduleOptions): Fault[] {
  const skip = (): number => random.int(3);
  const kill = (boundary: Boundary, role: Role, side?: Side): Fault => ({
    boundary,
    side: side ?? random.pick(sidesOf(boundary)),
    strike: { kind: 'kill', role },
    skip: skip(),
  });
  const at = (boundary: Boundary, strike: Strike): Fault => ({
    boundary,
    side: random.pick(sidesOf(boundary)),
    strike,
    skip: skip(),
  });
  const outside = (act: OutsideAct): Fault => ({
    ...at(random.pick(INSIDE), { kind: 'outside', act }),
    // Its journey is made for it alone.
    skip: 0,
  });
  if (only !== undefined && 'act' in only) {
    return Array.from({ length: count }, () => outside(only.act));
  }
  if (only !== undefined) {
    return Array.from({ length: count }, (_, index) =>
      kill(only.boundary, only.role, sidesOf(only.boundary)[index % sidesOf(only.boundary).length]),
    );
  }
  const others = (): Fault => {
    const strike = random.pick<() => Fault>([
      () => anywhere({ kind: 'term', role: random.pick(['bridge', 'worker']) }),
      () => anywhere({ kind: 'pause', role: random.pick(ROLES), ms: pauseMs }),
      () => at(random.pick(KUBE), { kind: 'answer', status: random.pick([429, 500, 503, 504]) }),
      () => at(random.pick(KUBE), { kind: 'cut' }),
      () => at(random.pick(TEMPORAL), { kind: 'answer', status: 503 }),
      () => at(random.pick(TEMPORAL), { kind: 'cut' }),
      () => at('effect-http', { kind: random.pick(['cut', 'half-close'] as const) }),
      () => at(random.pick([...KUBE, ...TEMPORAL]), { kind: 'half-close' }),
      () => anywhere({ kind: 'delay', ms: random.pick([2000, 35_000]) }),
      () => ({
        boundary: random.pick<Boundary>(['status-write', 'lock', 'plan-end', 'run-end', 'start-recorded']),
        side: 'before',
        strike: { kind: 'stale', ms: pauseMs * 2 },
        skip: skip(),
      }),
      () =>
        anywhere({
          kind: 'clock',
          role: random.pick(['bridge', 'worker'] as const),
          ms: random.pick([-60_000, 60_000]),
        }),
      ...(disk ? [() => anywhere({ kind: 'disk', ms: 5000 })] : []),
      () =>
        anywhere({
          kind: 'watch',
          fault: random.pick<WatchFault>([
            { kind: 'drop' },
            { kind: 'lose' },
            { kind: 'swallow' },
            { kind: 'expire' },
            { kind: 'lag', ms: 2000 },
          ]),
        }),
      () => anywhere({ kind: 'weather', status: random.pick([429, 500, 503, 'cut']), ms: 3000 }),
      () => anywhere({ kind: 'unreachable', ms: 4000 }),
      () => outside(random.pick(OUTSIDE_ACTS)),
    ]);
    return strike();
  };
  const anywhere = (strike: Strike): Fault => at(random.pick(boundaryNames), strike);

  const kills = random.shuffle(cells()).map(({ boundary, role }) => kill(boundary, role));
  if (isLong({ count, only })) {
    // After it has happened and before its sender knows is where a crash leaves most behind.
    for (const fault of kills) fault.side = sidesOf(fault.boundary).at(-1) ?? fault.side;
    kills.push(...OUTSIDE_ACTS.map(outside));
  }
  const rest = Math.max(0, count - kills.length);
  // Every cell first comes; when there is room, each other side of it, and all other faults.
  const second = random
    .shuffle(kills)
    .slice(0, Math.floor(rest / 3))
    .map(({ boundary, side, strike, skip: first }) => ({
      boundary,
      side: sidesOf(boundary).find((other) => other !== side) ?? side,
      strike,
      skip: strike.kind === 'outside' ? first : skip(),
    }));
  if (!isLong({ count, only })) {
    // A short session: a share of the cells, and of everything else.
    const share = Math.round(count * 0.5);
    return random.shuffle([...kills.slice(0, share), ...Array.from({ length: count - share }, others)]);
  }
  return random.shuffle([...kills, ...second, ...Array.from({ length: rest - second.length }, others)]);
}

const TEMPORAL: readonly Boundary[] = [
  'start',
  'workflow-task',
  'activity-completion',
  'mirror-step',
  'cancel',
];
