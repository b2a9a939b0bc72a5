import { ApplicationFailure } from '@temporalio/common';
import { isObject } from '../../api/core/json.js';
import type { MirrorEnvelope } from '../../workflows/core/contract.js';

/** How runs of one kind get into status. All of it may be repeated; nothing of it ever fails a run. */
export interface MirrorRow {
  readonly kind: string;
  /** Turns what runs of an earlier release send into an envelope; undefined for what is not of this kind. */
  former?(said: object): MirrorEnvelope | undefined;
  /**
   * Verifies that the one who speaks may do so.
   *
   * @throws ApplicationFailure that is tried again only where that may help
   */
  vouch(said: MirrorEnvelope): Promise<void>;
  /** A vouched update has come: its run is alive. */
  heard(said: MirrorEnvelope): void;
  /** Lays an update into status. @returns what the speaker is told, for instance its pace */
  mirror(said: MirrorEnvelope): Promise<unknown>;
  /** Writes the end. Absent: objects of this kind have no end that a run writes. */
  finish?(said: MirrorEnvelope): Promise<void>;
  /** Writes metadata and status, and answers only when they are written. */
  record?(said: MirrorEnvelope): Promise<void>;
  /** Takes the finalizer off. */
  release?(said: MirrorEnvelope): Promise<void>;
}

/** What a run may ask of the bridge, in the words of its activities. */
export type MirrorVerb = 'mirror' | 'finish' | 'record' | 'release';

/** Activities by which the runs of all kinds write through the bridge. */
export type MirrorEndpoint = Record<MirrorVerb, (said: object) => Promise<unknown>>;

/**
 * One endpoint for all kinds: finds the row that an envelope is for, has it vouch for the speaker, and hands it over.
 *
 * @param options.onUpdate called for every vouched update
 * @param options.onDone called with the kind of an update that was handled
 */
export function createMirrorEndpoint(options: {
  rows: readonly MirrorRow[];
  onUpdate: (verb: MirrorVerb) => void;
  onDone?: (kind: string, verb: MirrorVerb) => void;
}): MirrorEndpoint {
  const byKind = new Map(options.rows.map((row) => [row.kind, row]));

  function open(said: object): { row: MirrorRow; envelope: MirrorEnvelope } {
    if (isEnvelope(said)) {
      const row = byKind.get(said.kind);
      // A newer worker may know a kind that this bridge learns of with its own upgrade.
      if (row === undefined) throw ApplicationFailure.retryable(`no kind "${said.kind}" here`, 'UnknownKind');
      return { row, envelope: said };
    }
    for (const row of options.rows) {
      const envelope = row.former?.(said);
      if (envelope !== undefined) return { row, envelope };
    }
    throw ApplicationFailure.nonRetryable('an update of no kind that is known here', 'UnknownKind');
  }

  async function receive(verb: MirrorVerb, said: object): Promise<unknown> {
    const { row, envelope } = open(said);
    const handle = row[verb]?.bind(row);
    if (handle === undefined)
      throw ApplicationFailure.nonRetryable(`a ${row.kind} knows no "${verb}"`, 'UnknownUpdate');
    await row.vouch(envelope);
    row.heard(envelope);
    options.onUpdate(verb);
    const told = await handle(envelope);
    options.onDone?.(row.kind, verb);
    return told;
  }

  return {
    mirror: (said) => receive('mirror', said),
    finish: (said) => receive('finish', said),
    record: (said) => receive('record', said),
    release: (said) => receive('release', said),
  };
}

function isEnvelope(said: object): said is MirrorEnvelope {
  const { kind, object, epoch, speaker, sequence } = said as Partial<MirrorEnvelope>;
  return (
    typeof kind === 'string' &&
    isObject(object) &&
    typeof epoch === 'number' &&
    typeof speaker === 'string' &&
    typeof sequence === 'number'
  );
}
