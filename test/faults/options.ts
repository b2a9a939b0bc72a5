import { group, optional, setting } from '../../runtime/options/option.js';
import type { Program } from '../../runtime/options/option.js';
import { readOptions } from '../../runtime/options/read-options.js';
import { count, listOf, oneOf, path, valueType } from '../../runtime/options/types.js';
import { boundaryNames, ROLES } from './boundaries.js';
import type { Boundary, Role } from './boundaries.js';
import { OUTSIDE_ACTS } from './outside.js';
import type { OutsideAct } from './outside.js';
import { ORDINARY_KINDS } from './plans.js';
import type { JourneyKind } from './plans.js';
import { SET_PIECES } from './set-piece.js';
import type { SetPiece } from './set-piece.js';

/** One cell of the table, or one act from outside. */
export type Only = { boundary: Boundary; role: Role } | { act: OutsideAct };

/** What a session is told. */
export interface SessionOptions {
  seed: number;
  faults: number;
  only?: Only;
  /** Plans in flight at once. */
  journeys: number;
  /** Set pieces to play first; absent: all of them in a long session, else none. */
  pieces?: SetPiece[];
  /** Kinds of plans; absent: what passes the boundaries that are struck. */
  kinds?: JourneyKind[];
  /** Bridges and workers. */
  replicas: number;
  /** No fault strikes after so many seconds. */
  seconds: number;
  /** How long what is stopped stands still, in seconds. */
  pause: number;
  /** Data directory; absent = a temporary one. It is removed at the end. */
  dataDir?: string;
  /** File for the counts, for `npm test`. */
  report?: string;
}

const only = valueType(
  'cell or act',
  `BOUNDARY×PROCESS (an "x" will do) with a boundary of ${boundaryNames.join(', ')} and a process of ${ROLES.join(', ')}, or one of ${OUTSIDE_ACTS.join(', ')}`,
  readOnly,
);

const OPTIONS = {
  ...group('Faults', {
    seed: setting(count({ min: 0 }), '1', {
      means: 'what one seed has struck, the same seed strikes again',
    }),
    faults: setting(count({ min: 0 }), '330', { means: 'faults in all' }),
    only: optional(only, { means: 'one cell, such as lock×bridge, or one act on a run from outside' }),
    piece: optional(listOf(oneOf(...SET_PIECES)), {
      means: 'set pieces to play first',
      otherwise: 'all in a session that strikes every cell',
    }),
    seconds: setting(count(), '3600', { means: 'no fault strikes later than that' }),
    pause: setting(count(), '30', { means: 'seconds that a stopped process stands still' }),
  }),
  ...group('Plans and programs', {
    kind: optional(listOf(oneOf(...ORDINARY_KINDS)), {
      means: 'only plans of these kinds',
      otherwise: 'what passes the boundaries that are struck',
    }),
    journeys: setting(count(), '6', { means: 'plans in flight at once' }),
    replicas: setting(count(), '1', { means: 'bridges and workers' }),
    'data-dir': optional(path, { means: 'where it is kept while it runs', otherwise: 'a temporary one' }),
    report: optional(path, { means: 'writes the counts there' }),
  }),
};

const FAULTS: Program<typeof OPTIONS> = {
  name: 'faults',
  summary: `Runs plans while faults strike at every boundary, and checks that nothing was lost and nothing done twice.
Boundaries: ${boundaryNames.join(', ')}.
Processes: ${ROLES.join(', ')}.
Acts: ${OUTSIDE_ACTS.join(', ')}.`,
  options: OPTIONS,
  prefix: 'DROVER_FAULTS',
};

/** Reads the command line. A text is help or what is wrong. */
export function readSession(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): SessionOptions | { help: string; code: number } {
  const read = readOptions(FAULTS, argv, env);
  switch (read.kind) {
    case 'help':
      return { help: read.text, code: 0 };
    case 'invalid':
      return { help: `${read.problems.join('\n')}\ntry --help\n`, code: 2 };
    case 'values': {
      const { piece, kind, 'data-dir': dataDir, ...rest } = read.values;
      return { ...rest, pieces: piece, kinds: kind, dataDir };
    }
  }
}

function readOnly(text: string): Only | undefined {
  const act = OUTSIDE_ACTS.find((name) => name === text);
  if (act !== undefined) return { act };
  for (const boundary of boundaryNames) {
    for (const role of ROLES) {
      if (text === `${boundary}×${role}` || text === `${boundary}x${role}`) return { boundary, role };
    }
  }
  return undefined;
}
