/** The objects in files, of every kind that Drover knows. */
import { nearNames } from '../../../../api/core/near.js';
import { isObject } from '../../../../api/core/json.js';
import type { KindDescriptor } from '../../../../api/core/kind-descriptor.js';
import { KINDS } from '../../../../api/kinds.js';
import { DR_KINDS } from '../../../../api/plan/kinds.js';
import type { Kind } from '../../core/resources.js';
import type { ManifestObject } from './parse.js';
import type { SourceFault } from './sources.js';

/** An object in a file. */
export interface FileObject {
  descriptor: KindDescriptor;
  kind: string;
  /** Empty where its kind has none. */
  namespace: string;
  name: string;
  source: ManifestObject;
  /** With the namespace it would get, where its kind has them. */
  object: Record<string, unknown> & { metadata: Record<string, unknown> };
}

/** An object in a file, of a kind of DR plans. */
export interface DrObject extends FileObject {
  kind: Kind;
}

/** Whether an object is of a kind of DR plans. */
export const isDrObject = (entry: FileObject): entry is DrObject =>
  (DR_KINDS as readonly KindDescriptor[]).includes(entry.descriptor);

/**
 * Picks the objects of our kinds, and counts the others by kind. A kind that a group of ours does not have is a fault:
 * the API server refuses such an object, and left out it would look as if it had been checked.
 *
 * @param kinds the kinds there are (default: all)
 */
export function pickObjects(
  sources: readonly ManifestObject[],
  defaultNamespace: string,
  kinds: readonly KindDescriptor[] = KINDS,
): { objects: FileObject[]; others: Map<string, number>; faults: SourceFault[] } {
  const objects: FileObject[] = [];
  const faults: SourceFault[] = [];
  const others = new Map<string, number>();
  for (const source of sources) {
    const { kind, apiVersion } = source.value;
    const group = groupOf(apiVersion);
    // One of our kinds without a group is most likely a mistake; in a foreign group it has its own meaning.
    const inGroup = kinds.filter((one) => group === undefined || one.group === group);
    const descriptor = inGroup.find((one) => one.kind === kind);
    if (descriptor !== undefined) {
      objects.push(fileObject(source, descriptor, defaultNamespace));
    } else if (group !== undefined && inGroup.length > 0) {
      const message = unknownKind(kind, group, inGroup);
      faults.push({ file: source.file, ...source.locate('kind'), reason: 'UnknownKind', message });
    } else {
      const name = typeof kind === 'string' && kind !== '' ? kind : 'without a kind';
      others.set(name, (others.get(name) ?? 0) + 1);
    }
  }
  return { objects, others, faults };
}

function fileObject(
  source: ManifestObject,
  descriptor: KindDescriptor,
  defaultNamespace: string,
): FileObject {
  const metadata = isObject(source.value.metadata) ? source.value.metadata : {};
  const namespace = descriptor.scope === 'Namespaced' ? textOr(metadata.namespace, defaultNamespace) : '';
  return {
    descriptor,
    kind: descriptor.kind,
    namespace,
    name: textOr(metadata.name, textOr(metadata.generateName, '')),
    source,
    object: { ...source.value, metadata: { ...metadata, ...(namespace !== '' && { namespace }) } },
  };
}

/** Undefined where an apiVersion names no group. */
const groupOf = (apiVersion: unknown): string | undefined =>
  typeof apiVersion === 'string' && apiVersion.includes('/') ? apiVersion.split('/', 1)[0] : undefined;

function unknownKind(kind: unknown, group: string, kinds: readonly KindDescriptor[]): string {
  const names = kinds.map((one) => one.kind);
  if (typeof kind !== 'string' || kind === '') return `kind is missing; ${group} has ${names.join(', ')}`;
  const [near] = nearNames(kind, names, 1);
  const hint = near === undefined ? `it has ${names.join(', ')}` : `did you mean ${near}?`;
  return `kind ${JSON.stringify(kind.slice(0, 100))} is none of ${group}; ${hint}`;
}

const textOr = (value: unknown, fallback: string): string =>
  typeof value === 'string' && value !== '' ? value : fallback;
