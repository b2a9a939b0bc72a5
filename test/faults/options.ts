import { parseArgs } from 'node:util';
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

const HELP = `Runs plans while faults strike at every boundary, and checks that nothing was lost and nothing done twice.

  --seed N                what one seed has struck, the same seed strikes again (1)
  --faults N              faults in all (330)
  --only BOUNDARY×PROCESS one cell, e.g. lock×bridge (an "x" will do)
  --only ACT              one act on a run from outside
  --piece NAME,…          set pieces to play first (all in a session that strikes every cell)
  --kind KIND,…           only plans of these kinds
  --journeys N            plans in flight at once (6)
  --replicas N            bridges and workers (1)
  --seconds N             no fault strikes later than that (3600)
  --pause N               seconds that a stopped process stands still (30)
  --data-dir DIR          where it is kept while it runs
  --report FILE           writes the counts there

boundaries: ${boundaryNames.join(', ')}
processes:  ${ROLES.join(', ')}
acts:       ${OUTSIDE_ACTS.join(', ')}
set pieces: ${SET_PIECES.join(', ')}
kinds:      ${ORDINARY_KINDS.join(', ')}
`;

/** Reads the command line. A text is help or what is wrong. */
export function readOptions(argv: readonly string[]): SessionOptions | { help: string; code: number } {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        seed: { type: 'string', default: '1' },
        faults: { type: 'string', default: '330' },
        only: { type: 'string' },
        piece: { type: 'string' },
        kind: { type: 'string' },
        journeys: { type: 'string', default: '6' },
        replicas: { type: 'string', default: '1' },
        seconds: { type: 'string', default: '3600' },
        pause: { type: 'string', default: '30' },
        'data-dir': { type: 'string' },
        report: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return { help: HELP, code: 0 };
    return {
      seed: count('seed', values.seed, 0),
      faults: count('faults', values.faults, 0),
      journeys: count('journeys', values.journeys, 1),
      replicas: count('replicas', values.replicas, 1),
      seconds: count('seconds', values.seconds, 1),
      pause: count('pause', values.pause, 1),
      ...(values.only !== undefined && { only: readOnly(values.only) }),
      ...(values.piece !== undefined && { pieces: readList('piece', values.piece, SET_PIECES) }),
      ...(values.kind !== undefined && { kinds: readList('kind', values.kind, ORDINARY_KINDS) }),
      ...(values['data-dir'] !== undefined && { dataDir: values['data-dir'] }),
      ...(values.report !== undefined && { report: values.report }),
    };
  } catch (error) {
    return { help: `${(error as Error).message}\ntry --help\n`, code: 2 };
  }
}

function count(name: string, text: string, least: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Error(`--${name} is "${text}"; it must be a whole number of at least ${least}`);
}

function readList<T extends string>(option: string, text: string, known: readonly T[]): T[] {
  return text.split(',').map((name) => {
    const found = known.find((one) => one === name);
    if (found !== undefined) return found;
    throw new Error(`--${option} is "${name}"; there are ${known.join(', ')}`);
  });
}

function readOnly(text: string): Only {
  const act = OUTSIDE_ACTS.find((name) => name === text);
  if (act !== undefined) return { act };
  for (const boundary of boundaryNames) {
    for (const role of ROLES) {
      if (text === `${boundary}×${role}` || text === `${boundary}x${role}`) return { boundary, role };
    }
  }
  throw new Error(
    `--only is "${text}"; it must be BOUNDARY×PROCESS with a boundary of ${boundaryNames.join(', ')} and a process of ${ROLES.join(', ')}, or one of ${OUTSIDE_ACTS.join(', ')}`,
  );
}
