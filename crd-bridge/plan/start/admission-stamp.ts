/**
 * The admission stamp of an execution: what the webhooks have let in, for whom and when, under a seal. Annotations that
 * somebody writes while the webhooks are away do not count as one (S5.8).
 */
import { createHash } from 'node:crypto';
import { ANNOTATIONS } from '../../../api/core/group.js';
import { canonicalJson, isObject, parseJson } from '../../../api/core/json.js';
import type { Refusal } from '../../../api/core/refusal.js';
import type { Sealer } from '../../../api/core/seal.js';

/** The object that is stamped: as it arrives at admission, or as it is stored. */
export interface Stamped {
  metadata: {
    name?: string;
    generateName?: string;
    namespace?: string;
    creationTimestamp?: string;
    annotations?: Record<string, string>;
  };
  spec?: unknown;
}

/** Annotations that name the requester, which the stamp covers. */
export type Requester = Record<(typeof REQUESTER)[number], string | undefined>;

const REQUESTER = [ANNOTATIONS.requestedBy, ANNOTATIONS.requester, ANNOTATIONS.authorizedAs] as const;

/**
 * An object is created within moments of its admission. This leaves room for a wrong clock; an older stamp belongs to
 * another object.
 */
const FITS_MS = 15 * 60_000;

interface Stamp {
  time: string;
  /** SHA-256 of the canonical JSON of the spec, hex. */
  spec: string;
  seal: string;
}

/** The annotation for an object that is let in. */
export function writeAdmissionStamp(
  sealer: Sealer,
  object: Stamped,
  options: { namespace: string; requester: Requester; now: Date },
): string {
  const { namespace, requester } = options;
  const time = options.now.toISOString();
  const spec = digestOf(object.spec);
  const seal = sealer.seal('admission', sealedValue({ object, namespace, requester, time, spec }));
  return JSON.stringify({ time, spec, seal } satisfies Stamp);
}

/** What the stamp of a stored execution is worth. */
export type Admittance =
  | { kind: 'admitted' }
  /** Its key may be in the ring in a moment. */
  | { kind: 'unknownKey'; keyId: string }
  /** An execution of this name was admitted once, but this is another object: a copy. */
  | { kind: 'copy'; refusal: Refusal }
  | { kind: 'refused'; refusal: Refusal };

/** Judges the stamp of an execution by what is stored now. */
export async function judgeAdmissionStamp(sealer: Sealer, object: Stamped): Promise<Admittance> {
  const stamp = readStamp(object);
  if (stamp === undefined) return refused('it carries no stamp of admission');
  const { namespace = '', creationTimestamp = '', annotations = {} } = object.metadata;
  const requester = Object.fromEntries(REQUESTER.map((key) => [key, annotations[key]])) as Requester;
  const value = sealedValue({ object, namespace, requester, ...stamp });
  const named = await sealer.verify('admission', value, stamp.seal);
  // Under generateName the name was not known at admission.
  const generated = { ...object, metadata: { ...object.metadata, name: '' } };
  const checked =
    named.kind === 'wrong' && object.metadata.generateName !== undefined
      ? await sealer.verify(
          'admission',
          sealedValue({ object: generated, namespace, requester, ...stamp }),
          stamp.seal,
        )
      : named;
  switch (checked.kind) {
    case 'unknownKey':
      return checked;
    case 'wrong':
      return refused('its stamp of admission is not of this object, or of another installation');
    case 'sealed':
      break;
  }
  const apart = Math.abs(Date.parse(creationTimestamp) - Date.parse(stamp.time));
  if (!(apart <= FITS_MS)) {
    return {
      kind: 'copy',
      refusal: {
        reason: 'RestoredCopy',
        message: `not started: this is a copy of an execution that was admitted at ${stamp.time}, made at ${creationTimestamp}; to run the plan on purpose, create a new execution without these annotations`,
      },
    };
  }
  if (stamp.spec !== digestOf(object.spec))
    return refused(
      'its spec is not the one that was admitted: another webhook, or somebody past them, has changed it',
    );
  return { kind: 'admitted' };
}

const refused = (why: string): Admittance => ({
  kind: 'refused',
  refusal: {
    reason: 'NotAdmitted',
    message: `not started: ${why}, so nobody has checked who asked for it; it was created while the admission webhooks were away, or past them; create it again`,
  },
});

function readStamp({ metadata }: Stamped): Stamp | undefined {
  const value = parseJson(metadata.annotations?.[ANNOTATIONS.admission] ?? '');
  if (!isObject(value)) return undefined;
  const { time, spec, seal } = value;
  return typeof time === 'string' && typeof spec === 'string' && typeof seal === 'string'
    ? { time, spec, seal }
    : undefined;
}

function sealedValue(of: {
  object: Stamped;
  namespace: string;
  requester: Requester;
  time: string;
  spec: string;
}): object {
  const { name = '', generateName } = of.object.metadata;
  return {
    kind: 'DRPlanExecution',
    namespace: of.namespace,
    name: name === '' ? `${generateName ?? ''}*` : name,
    requester: REQUESTER.map((key) => of.requester[key] ?? null),
    time: of.time,
    spec: of.spec,
  };
}

const digestOf = (spec: unknown): string =>
  createHash('sha256')
    .update(canonicalJson(spec ?? null))
    .digest('hex');
