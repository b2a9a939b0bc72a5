import { table } from '../../core/render/table.js';
import { oneLine } from '../../core/render/text.js';
import { age } from '../../core/render/time.js';
import type { Style } from '../../core/render/style.js';
import type { Judgement, Situation } from './judge.js';

/** Fields of a definition that a line names. */
const MAX_PATHS = 3;

/** What was found, as tables and notes; the verdict stands in the last line. */
export function upgradeLines(
  situation: Situation,
  judgement: Judgement,
  { style, now }: { style: Style; now: number },
): string[] {
  return [
    ...programLines(situation, now),
    '',
    ...definitionLines(situation),
    '',
    ...runLines(situation, style),
    '',
    ...judgement.notes.map((note) => `${style.warn('!')} ${oneLine(note)}`),
    verdictLine(situation, judgement, style),
  ];
}

function programLines({ programs }: Situation, now: number): string[] {
  const rows = programs.map(({ program, where, version, build, isPinning, processes, lastSeen }) => [
    program,
    where,
    version ?? '-',
    build === undefined ? '-' : `${build}${isPinning === true ? ' (pins runs)' : ''}`,
    String(processes),
    lastSeen === undefined ? '-' : `${age(lastSeen, now)} ago`,
  ]);
  return rows.length === 0
    ? ['no bridge and no worker']
    : table(['PROGRAM', 'SEEN BY', 'VERSION', 'BUILD', 'COUNT', 'SEEN'], rows);
}

function definitionLines({ definitions, target }: Situation): string[] {
  const rows = definitions.map(({ kind, state, lacks, beyond }) => [
    kind,
    state === 'other' ? 'neither older nor newer' : state,
    [pathsOf('lacks', lacks), pathsOf('also has', beyond)].filter((text) => text !== '').join('; '),
  ]);
  return table(['DEFINITION', `BESIDE ${target.version}`, ''], rows);
}

function pathsOf(words: string, paths: readonly string[]): string {
  if (paths.length === 0) return '';
  const more = paths.length > MAX_PATHS ? ` and ${paths.length - MAX_PATHS} more` : '';
  return `${words} ${paths.slice(0, MAX_PATHS).join(', ')}${more}`;
}

/** Live runs by the build that carries them on, and by phase. */
function runLines({ runs }: Situation, style: Style): string[] {
  const groups = new Map<string, { phase: string; cells: string[]; count: number }>();
  for (const { phase, build, release, workflowId } of runs) {
    const by = workflowId === undefined ? 'not started' : (build?.buildId ?? 'no build');
    const cells = [`${by}${build?.isPinned === true ? ' (pinned)' : ''}`, release ?? '-'];
    const key = [...cells, phase].join('\n');
    const group = groups.get(key) ?? { phase, cells, count: 0 };
    group.count += 1;
    groups.set(key, group);
  }
  if (groups.size === 0) return ['no live runs'];
  const rows = [...groups.values()].map(({ phase, cells, count }) => [
    ...cells.map(oneLine),
    style.phase(phase),
    String(count),
  ]);
  return table(['RUNS OF BUILD', 'BEGUN BY', 'PHASE', 'COUNT'], rows);
}

function verdictLine({ runs, target }: Situation, judgement: Judgement, style: Style): string {
  if (judgement.isSafe) {
    const going = runs.length === 0 ? 'nothing is under way' : `${runs.length} live runs go on`;
    return `${style.good('safe now')}: ${going} with ${target.version}`;
  }
  const why = judgement.obstacles.map(({ what, advice }) => `${what}; ${advice}`);
  return `${style.bad('not now')}: ${why.map(oneLine).join('; ')}`;
}
