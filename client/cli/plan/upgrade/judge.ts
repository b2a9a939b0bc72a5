/** Whether an upgrade, or the way back, is safe now: from what is known of programs, definitions and runs, without asking anybody. */
import type { DefinitionGap } from '../../../../api/core/definition-gap.js';
import { compareVersions, parseVersion } from '../../../../local/program-version.js';
import type { Version } from '../../../../local/program-version.js';
import type { LiveRun } from './live-runs.js';
import type { FoundProgram } from './programs.js';
import { stepsBehind } from './steps.js';

/** What is known. */
export interface Situation {
  /** The release that is gone to, and what its workers' build is called, where that is known. */
  target: { version: string; build?: string };
  /** Builds of workers that go on beside those of the target. */
  kept: readonly string[];
  programs: readonly FoundProgram[];
  definitions: readonly DefinitionGap[];
  runs: readonly LiveRun[];
}

/** Why it is not safe. */
export interface Obstacle {
  /** The step of `steps.ts`, or `pinned`, or `skipped`. */
  reason: string;
  what: string;
  /** What to do about it. */
  advice: string;
  /** Runs that it is about, as NAMESPACE/NAME. */
  runs: string[];
}

/** The judgement. */
export interface Judgement {
  /** Newest version that runs now; absent where none can be told. */
  from?: string;
  direction: 'upgrade' | 'downgrade' | 'same';
  isSafe: boolean;
  obstacles: Obstacle[];
  /** What is good to know. */
  notes: string[];
}

/** Runs that a text names. */
const MAX_NAMED = 3;

/** Judges a situation. */
export function judge(situation: Situation): Judgement {
  const { target, programs } = situation;
  const versions = programs.flatMap(({ version }) => version ?? []);
  const from = newest(versions);
  const direction = directionOf(from, target.version);
  const obstacles = [
    ...pinned(situation),
    ...(direction === 'downgrade' ? stepsInTheWay(situation) : []),
    ...skipped(versions, target.version),
  ];
  return {
    ...(from !== undefined && { from }),
    direction,
    isSafe: obstacles.length === 0,
    obstacles,
    notes: notesOn(situation, direction),
  };
}

/** Runs that stay with a build that nobody runs any more after the change. */
function pinned({ target, kept, runs }: Situation): Obstacle[] {
  const builds = new Map<string, LiveRun[]>();
  for (const run of runs) {
    const { build } = run;
    if (build?.isPinned !== true || kept.includes(build.buildId) || isOfTarget(build.buildId, target))
      continue;
    builds.set(build.buildId, [...(builds.get(build.buildId) ?? []), run]);
  }
  return [...builds].map(([build, those]) => ({
    reason: 'pinned',
    what: `${countOf(those, 'run is', 'runs are')} pinned to build "${build}", which nobody runs afterwards (${namesOf(those)})`,
    advice: `keep workers of that build until it has no run left, and say so with --keep ${build}; or let the runs end, or move them (docs/upgrading.md#a-build-that-nobody-runs-any-more)`,
    runs: those.map(nameOf),
  }));
}

const isOfTarget = (buildId: string, { version, build }: Situation['target']): boolean =>
  build === undefined ? buildId.startsWith(`${version}-`) : buildId === build;

/** Steps that a run that is under way cannot go back behind. */
function stepsInTheWay({ target, runs }: Situation): Obstacle[] {
  return stepsBehind(target.version).flatMap(({ id, since, concerns, harm }) => {
    const those = runs.filter((run) => run.workflowId !== undefined && concerns(run));
    if (those.length === 0) return [];
    return [
      {
        reason: id,
        what: `step "${id}" of ${since} cannot be gone back behind while ${countOf(those, 'run is', 'runs are')} under way (${namesOf(those)}): ${harm}`,
        advice: 'let them end, or cancel them, and begin none meanwhile',
        runs: those.map(nameOf),
      },
    ];
  });
}

/** Releases that lie more than one minor version apart are never tried beside each other. */
function skipped(versions: readonly string[], to: string): Obstacle[] {
  const far = versions.filter((version) => isFar(parseVersion(version), parseVersion(to)));
  const [oldest] = far.sort((a, b) => order(a, b));
  if (oldest === undefined) return [];
  return [
    {
      reason: 'skipped',
      what: `${oldest} runs, and ${to} is more than one minor version away`,
      advice: 'go by way of each minor version between them',
      runs: [],
    },
  ];
}

const isFar = (a: Version | undefined, b: Version | undefined): boolean =>
  a !== undefined && b !== undefined && a[0] === b[0] && Math.abs(a[1] - b[1]) > 1;

function notesOn(situation: Situation, direction: Judgement['direction']): string[] {
  const { target, programs, definitions, runs } = situation;
  const notes: string[] = [];
  const older = definitions.filter(({ state }) => state === 'older' || state === 'other');
  const newer = definitions.filter(({ state }) => state === 'newer' || state === 'other');
  const missing = definitions.filter(({ state }) => state === 'missing');
  const kindsOf = (gaps: readonly DefinitionGap[]): string => gaps.map(({ kind }) => kind).join(', ');
  if (missing.length > 0) notes.push(`the cluster has no definition of ${kindsOf(missing)}`);
  if (direction !== 'downgrade' && older.length + missing.length > 0)
    notes.push(
      `bring the definitions up to date before the programs: kubectl apply --server-side --force-conflicts -f deploy/crds (Helm does it by itself)`,
    );
  if (direction === 'downgrade' || newer.length > 0)
    notes.push(
      `leave the definitions as they are (Helm: --set crds.install=false): older ones would drop fields of stored objects`,
    );
  const failing = runs.filter(({ failing: why }) => why !== undefined);
  if (failing.length > 0)
    notes.push(
      `${countOf(failing, 'run stands', 'runs stand')} still already, as the code of the workers does not fit (${namesOf(failing)}): docs/upgrading.md#a-run-that-no-code-can-carry-on`,
    );
  for (const program of ['bridge', 'worker'] as const) {
    if (!programs.some((one) => one.program === program && one.where === 'Temporal'))
      notes.push(`no ${program} has asked Temporal for work in the last five minutes`);
  }
  const versions = new Set(programs.flatMap(({ version }) => version ?? []));
  if (versions.size > 1 && direction !== 'same')
    notes.push(`several versions run beside each other: ${[...versions].sort(order).join(', ')}`);
  if (direction === 'same') notes.push(`${target.version} runs already`);
  return notes;
}

function directionOf(from: string | undefined, to: string): Judgement['direction'] {
  const difference = from === undefined ? 1 : order(to, from);
  if (difference === 0) return 'same';
  return difference > 0 ? 'upgrade' : 'downgrade';
}

const newest = (versions: readonly string[]): string | undefined => [...versions].sort(order).at(-1);

/** Negative, zero or positive, as `a` is older than, equal to or newer than `b`. */
function order(a: string, b: string): number {
  const [one, other] = [parseVersion(a), parseVersion(b)];
  return one === undefined || other === undefined ? 0 : compareVersions(one, other);
}

const nameOf = ({ namespace, name }: LiveRun): string => `${namespace}/${name}`;

function namesOf(runs: readonly LiveRun[]): string {
  const shown = runs.slice(0, MAX_NAMED).map(nameOf).join(', ');
  return runs.length > MAX_NAMED ? `${shown}, …` : shown;
}

const countOf = ({ length }: readonly LiveRun[], one: string, several: string): string =>
  `${length} ${length === 1 ? one : several}`;
