/**
 * What may be stored as a state (T8.4): whole, of the same lineage, of no lower serial. A state is opaque bytes: it is
 * looked through as a stream, and never written anew (T8.5).
 */
import type { Refusal } from '../core/refusal.js';
import { MAX_STATE_BYTES } from './bounds.js';
import { createPlaceReader, type FoundValue } from './json-paths.js';

/** What is known of a state without reading its resources. */
export interface StateFacts {
  lineage: string;
  serial: number;
  /** Of the engine that wrote it, as it says. */
  engineVersion: string;
  bytes: number;
}

/** Bytes of a state: the first, and the one after the last. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A whole state, or why the bytes are none. */
export type StateReading =
  | { kind: 'whole'; facts: StateFacts; serial: ByteRange; outputs?: ByteRange }
  | { kind: 'notWhole'; problem: string };

/** Looks through a state, chunk by chunk. */
export interface StateReader {
  /** False once the bytes are known to be no whole state. */
  push(chunk: Uint8Array): boolean;
  end(): StateReading;
}

/** One object that a state knows. */
export interface StateInstance {
  /** Which resource it is of, as {@link instanceKey} writes it. */
  key: string;
  /** It was replaced, and is still to be deleted. */
  isDeposed: boolean;
}

/** Which resource is meant, whatever its keys look like: addresses are written with quotes and escapes. */
export interface InstanceName {
  /** Absent or empty in the root module. */
  module?: string;
  type: string;
  name: string;
  /** The `for_each` key or `count` index; absent where there is none. */
  index?: string | number;
}

/** A name as a text that is equal only for the same resource. */
export const instanceKey = ({ module, type, name, index }: InstanceName): string =>
  JSON.stringify([module ?? '', type, name, index ?? null]);

const PLACES = {
  version: ['version'],
  serial: ['serial'],
  lineage: ['lineage'],
  engineVersion: ['terraform_version'],
  outputs: ['outputs'],
} as const;

const INSTANCE_PLACES = {
  ...PLACES,
  resource: ['resources', '[]'],
  module: ['resources', '[]', 'module'],
  mode: ['resources', '[]', 'mode'],
  type: ['resources', '[]', 'type'],
  name: ['resources', '[]', 'name'],
  instance: ['resources', '[]', 'instances', '[]'],
  index: ['resources', '[]', 'instances', '[]', 'index_key'],
  deposed: ['resources', '[]', 'instances', '[]', 'deposed'],
} as const;

/**
 * A reader for one state.
 *
 * @param onInstance is told of each managed object; costs time on large states
 */
export function createStateReader(onInstance?: (instance: StateInstance) => void): StateReader {
  const found = new Map<string, FoundValue<string>>();
  const twice = new Set<string>();
  let bytes = 0;
  const instances = onInstance === undefined ? undefined : collectInstances(onInstance);
  const reader = createPlaceReader<string>(instances === undefined ? PLACES : INSTANCE_PLACES, (value) => {
    if (!(value.name in PLACES)) return instances?.(value);
    if (found.has(value.name)) twice.add(value.name);
    found.set(value.name, value);
  });
  return {
    push(chunk) {
      bytes += chunk.length;
      return bytes <= MAX_STATE_BYTES && reader.push(chunk);
    },
    end() {
      if (bytes > MAX_STATE_BYTES) {
        return { kind: 'notWhole', problem: `it is larger than ${MAX_STATE_BYTES} bytes` };
      }
      const problem = reader.end() ?? [...twice].map((name) => `it has two values of ${name}`)[0];
      return problem === undefined ? judge(found, bytes) : { kind: 'notWhole', problem };
    },
  };
}

function judge(found: ReadonlyMap<string, FoundValue<string>>, bytes: number): StateReading {
  const version = valueOf(found.get('version'));
  const serial = valueOf(found.get('serial'));
  const lineage = valueOf(found.get('lineage'));
  const engineVersion = valueOf(found.get('engineVersion'));
  if (version !== 4) {
    return { kind: 'notWhole', problem: `its version is ${JSON.stringify(version) ?? 'not said'}, not 4` };
  }
  if (typeof serial !== 'number' || !Number.isSafeInteger(serial) || serial < 0) {
    return { kind: 'notWhole', problem: 'its serial is no whole number from 0 to 2^53 - 1' };
  }
  if (typeof lineage !== 'string' || lineage === '')
    return { kind: 'notWhole', problem: 'it has no lineage' };
  const outputs = found.get('outputs');
  return {
    kind: 'whole',
    facts: { lineage, serial, engineVersion: typeof engineVersion === 'string' ? engineVersion : '', bytes },
    serial: rangeOf(found.get('serial')!),
    ...(outputs !== undefined && { outputs: rangeOf(outputs) }),
  };
}

const rangeOf = ({ start, end }: FoundValue<string>): ByteRange => ({ start, end });

const valueOf = (found: FoundValue<string> | undefined): unknown =>
  found?.text === undefined ? undefined : JSON.parse(found.text);

/** Puts the fields of resources together: an instance may stand before the type of its resource. */
function collectInstances(
  onInstance: (instance: StateInstance) => void,
): (value: FoundValue<string>) => void {
  let resource: Record<string, unknown> = {};
  let instances: { index?: string | number; isDeposed: boolean }[] = [];
  let instance: Record<string, unknown> = {};
  return (value) => {
    switch (value.name) {
      case 'index':
      case 'deposed':
        instance[value.name] = valueOf(value);
        return;
      case 'instance':
        instances.push({
          ...(isIndex(instance.index) && { index: instance.index }),
          isDeposed: typeof instance.deposed === 'string' && instance.deposed !== '',
        });
        instance = {};
        return;
      case 'resource':
        if (resource.mode === 'managed') {
          const { module, type, name } = resource;
          for (const { index, isDeposed } of instances) {
            const key = instanceKey({ module: text(module), type: text(type), name: text(name), index });
            onInstance({ key, isDeposed });
          }
        }
        resource = {};
        instances = [];
        return;
      default:
        resource[value.name] = valueOf(value);
    }
  };
}

const isIndex = (value: unknown): value is string | number =>
  typeof value === 'string' || typeof value === 'number';
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * Why a whole state may not take the place of a stored one.
 *
 * @param stored undefined where none is stored: then any lineage counts
 */
export function refuseState(
  { lineage, serial }: Pick<StateFacts, 'lineage' | 'serial'>,
  stored: Pick<StateFacts, 'lineage' | 'serial'> | undefined,
): Refusal | undefined {
  if (stored === undefined) return undefined;
  if (lineage !== stored.lineage) {
    return {
      reason: 'StateRefused',
      message: `the state has lineage ${lineage}; the stored one has ${stored.lineage}`,
    };
  }
  return serial < stored.serial
    ? {
        reason: 'StateRefused',
        message: `the state has serial ${serial}; the stored one has ${stored.serial} already`,
      }
    : undefined;
}
