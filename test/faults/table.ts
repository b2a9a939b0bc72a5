import { boundaryNames, ROLES } from './boundaries.js';
import type { Boundary, Role } from './boundaries.js';
import { cells, nameOf } from './schedule.js';
import type { Struck } from './striker.js';

/** Cells in which no process was killed. */
export const emptyCells = (struck: readonly Struck[]): { boundary: Boundary; role: Role }[] =>
  cells().filter(
    ({ boundary, role }) =>
      !struck.some(
        ({ fault: { boundary: at, strike } }) =>
          at === boundary && strike.kind === 'kill' && strike.role === role,
      ),
  );

/** The tables of a session: kills by boundary and process, everything else by kind. */
export function tables(struck: readonly Struck[]): string {
  const kills = struck.filter(({ fault }) => fault.strike.kind === 'kill');
  const rows = boundaryNames.map((boundary) => [
    boundary,
    ...ROLES.map((role) => {
      const here = kills.filter(
        ({ fault }) =>
          fault.boundary === boundary && fault.strike.kind === 'kill' && fault.strike.role === role,
      );
      const before = here.filter(({ fault }) => fault.side === 'before').length;
      return here.length === 0 ? '–' : `${before}+${here.length - before}`;
    }),
  ]);
  const others = new Map<string, { count: number; boundaries: Set<string> }>();
  for (const { fault } of struck) {
    if (fault.strike.kind === 'kill') continue;
    const entry = others.get(nameOf(fault.strike)) ?? { count: 0, boundaries: new Set() };
    entry.count += 1;
    entry.boundaries.add(`${fault.boundary}`);
    others.set(nameOf(fault.strike), entry);
  }
  const resumed = struck.flatMap(({ resumedMs }) => (resumedMs === undefined ? [] : [resumedMs]));
  resumed.sort((a, b) => a - b);
  const at = (share: number): string =>
    ((resumed[Math.min(resumed.length - 1, Math.floor(resumed.length * share))] ?? 0) / 1000).toFixed(1);
  return [
    'kill -9, by boundary and process: before + after the receiver had it',
    grid([['', ...ROLES], ...rows]),
    '',
    'other faults, and at how many boundaries',
    grid(
      [...others]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([name, { count, boundaries }]) => [name, String(count), `at ${boundaries.size}`]),
    ),
    '',
    `a struck run went on after ${at(0.5)} s (median), ${at(0.99)} s (99 %)`,
  ].join('\n');
}

function grid(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  '),
    )
    .join('\n');
}
