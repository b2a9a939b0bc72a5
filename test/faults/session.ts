/** One session: a system, plans in flight, faults, what came of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startEndpoint } from './endpoint.js';
import { insistOnCreating } from './insist.js';
import { travel } from './journeys.js';
import { watchObjects } from './objects.js';
import type { Objects } from './objects.js';
import type { SessionOptions } from './options.js';
import type { OutsideTargets } from './outside.js';
import { watchTransitions } from './oracle.js';
import { startPlant, whenAllReady } from './plant.js';
import type { Plant } from './plant.js';
import { ORDINARY_KINDS, PASSES } from './plans.js';
import type { JourneyKind } from './plans.js';
import { journeyOf } from './boundaries.js';
import { createRandom } from './random.js';
import type { Random } from './random.js';
import { isLong, nameOf, schedule } from './schedule.js';
import type { Fault } from './schedule.js';
import { SET_PIECES } from './set-piece.js';
import { play } from './set-pieces.js';
import type { SetPiece } from './set-piece.js';
import type { Stage } from './stage.js';
import { createStriker } from './striker.js';
import type { Striker, Struck } from './striker.js';
import { checkSecrecyOfAll, createTenant } from './tenant.js';

export interface SessionOutcome {
  struck: readonly Struck[];
  /** Faults that found nothing to strike. */
  missed: readonly Fault[];
  violations: string[];
  /** Journeys that were gone through. */
  journeys: number;
  /** Set pieces that were played. */
  pieces: readonly SetPiece[];
  notes: string[];
}

/** More of them tell no more. */
const ENOUGH_VIOLATIONS = 20;
/** Kinds for what every run passes: short ones pass it more often. */
const COMMON: readonly JourneyKind[] = ['short', 'short', 'switch', 'rollback'];

/** Runs a session in a data directory of its own. */
export async function runSession(
  options: SessionOptions & { dataDir: string; disk: boolean },
  log: (line: string) => void,
  abort: AbortSignal,
): Promise<SessionOutcome> {
  const random = createRandom(options.seed);
  const live = new Set<string>();
  const outside: OutsideTargets = new Map();
  const resets = new Set<string>();
  const violations: string[] = [];
  const striker = createStriker({
    faults: schedule({
      random,
      count: options.faults,
      only: options.only,
      pauseMs: options.pause * 1000,
      disk: options.disk,
    }),
    isLive: (journey) => live.has(journey),
    log,
    outside,
    restMs: 500,
  });
  const weather = createRandom(options.seed + 1);
  const chance = (): number => weather.next();
  const endpoint = await startEndpoint(striker.referee);
  const plant = await startPlant({
    dataDir: options.dataDir,
    referee: striker.referee,
    random: chance,
    log,
    replicas: options.replicas,
  });
  let objects: Objects | undefined;
  try {
    await prepare(plant);
    objects = await watchObjects(plant.kube);
    watchTransitions(
      objects,
      (name, violation) => violations.push(`${journeyOf(name)} ${name}: ${violation}`),
      (name) => resets.has(journeyOf(name) ?? ''),
    );
    log(
      `up with ${options.replicas} bridge(s) and worker(s); ${striker.pending.length} faults, seed ${options.seed}`,
    );
    striker.begin(plant);
    const stage: Stage = { plant, endpoint, objects, outside, striker, random, log };
    const pieces =
      options.pieces ?? (isLong({ count: options.faults, only: options.only }) ? SET_PIECES : []);
    for (const piece of pieces) {
      log(`set piece ${piece}`);
      const report = (violation: string): void => {
        violations.push(`set piece ${piece}: ${violation}`);
        log(`VIOLATION ${violations.at(-1)}`);
      };
      await play(piece, stage, report).catch((error: unknown) => {
        report(error instanceof Error ? error.message : String(error));
      });
    }
    const end = Date.now() + options.seconds * 1000;
    const journeys = await goOn(stage, {
      live,
      resets,
      violations,
      atOnce: options.journeys,
      kinds: options.kinds,
      isOver: () => abort.aborted || Date.now() > end || violations.length >= ENOUGH_VIOLATIONS,
    });
    await checkSecrecyOfAll(plant, (violation) => violations.push(violation));
    const notes = [...plant.instances.map((instance) => instance.process), ...servers(plant)].flatMap(
      ({ name, ownDeaths }) => (ownDeaths === 0 ? [] : [`${name} ended by itself ${ownDeaths} times`]),
    );
    return { struck: striker.struck, missed: striker.pending, violations, journeys, pieces, notes };
  } finally {
    striker.stop();
    await objects?.close();
    await plant.close();
    await endpoint.close();
  }
}

const servers = (plant: Plant) =>
  (['etcd', 'apiserver', 'temporal'] as const).flatMap((role) => plant.processes(role));

async function prepare({ kube }: Plant): Promise<void> {
  await insistOnCreating(() =>
    kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'faults' } }),
  );
  await createTenant(kube, 'faults');
  // What subscriptions distribute.
  await insistOnCreating(() =>
    kube.create({
      apiVersion: 'apps.clusternet.io/v1alpha1',
      kind: 'Manifest',
      metadata: {
        name: 'configmaps-faults-app',
        namespace: 'clusternet-reserved',
        labels: {
          'apps.clusternet.io/config.group': '',
          'apps.clusternet.io/config.version': 'v1',
          'apps.clusternet.io/config.kind': 'ConfigMap',
          'apps.clusternet.io/config.name': 'app',
          'apps.clusternet.io/config.namespace': 'faults',
        },
      },
      ...{
        template: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'app', namespace: 'faults' },
          data: { site: 'a' },
        },
      },
    }),
  );
}

interface Travelling {
  live: Set<string>;
  /** Journeys whose run is reset. */
  resets: Set<string>;
  violations: string[];
  atOnce: number;
  /** Only these. */
  kinds: readonly JourneyKind[] | undefined;
  isOver: () => boolean;
}

/** Keeps plans in flight until every fault has struck or the time is over, and waits for the last. */
async function goOn(
  stage: Stage,
  { live, resets, violations, atOnce, kinds, isOver }: Travelling,
): Promise<number> {
  const { plant, striker, log } = stage;
  const running = new Map<string, Promise<void>>();
  let count = 0;
  while (striker.pending.length > 0 && !isOver()) {
    if (running.size >= atOnce) {
      await Promise.race([...running.values(), sleep(1000)]);
      continue;
    }
    count += 1;
    const id = `j${count}`;
    const kind = kinds === undefined ? wantedKind(striker.pending, stage.random) : stage.random.pick(kinds);
    live.add(id);
    if (kind === 'reset') resets.add(id);
    const report = (violation: string): void => {
      violations.push(`${id} (${kind}): ${violation}; struck by ${strikesOf(striker, id)}`);
      log(`VIOLATION ${violations.at(-1)}`);
    };
    running.set(
      id,
      travel(kind, id, stage, report)
        .catch((error: unknown) => {
          report(error instanceof Error ? error.message : String(error));
        })
        .finally(() => {
          live.delete(id);
          running.delete(id);
        }),
    );
  }
  striker.stop();
  log(`${striker.struck.length} faults have struck; waiting for ${running.size} plans in flight`);
  await whenAllReady(plant);
  await Promise.all(running.values());
  return count;
}

/** A kind that passes the boundary that most faults wait for, or any. */
function wantedKind(pending: readonly Fault[], random: Random): JourneyKind {
  const fault = random.pick(pending);
  if (fault.strike.kind === 'outside') return fault.strike.act;
  const kinds = ORDINARY_KINDS.filter((kind) => PASSES[kind].includes(fault.boundary));
  return random.pick(kinds.length > 0 ? kinds : COMMON);
}

const strikesOf = (striker: Striker, journey: string): string =>
  striker.struck
    .filter((strike) => strike.journey === journey)
    .map(({ fault }) => `${nameOf(fault.strike)} ${fault.side} ${fault.boundary}`)
    .join(', ') || 'nothing itself';
