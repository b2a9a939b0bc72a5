/** The keys of seals where an installation keeps them: a Secret, or with the embedded default a file. */
import { existsSync } from 'node:fs';
import type { KubeClient } from '../../../../kube/client.js';
import { isAlreadyExists, isConflict } from '../../../../kube/error.js';
import type { KubeObject } from '../../../../kube/object.js';
import { SEAL_SECRET } from '../../../../kube/seal-secret.js';
import { writeJson } from '../../../../local/state.js';
import { readEntries } from '../../../../runtime/entries-file.js';
import { CliError } from '../../core/cli-error.js';
import type { Cluster } from '../../core/cluster.js';

/** Where the ring is. */
export type RingPlace = { kind: 'file'; path: string } | { kind: 'secret'; namespace: string };

/** Keys by their ids, in base64. */
export type RingKeys = Record<string, string>;

type Secret = KubeObject & { data?: Record<string, string> };

/** Where the ring of a cluster's installation is. */
export function ringPlaceOf({ embedded }: Pick<Cluster, 'embedded'>, namespace: string): RingPlace {
  return embedded !== undefined && existsSync(embedded.paths.sealRing)
    ? { kind: 'file', path: embedded.paths.sealRing }
    : { kind: 'secret', namespace };
}

/** A place, for a person. */
export const describeRing = (place: RingPlace): string =>
  place.kind === 'file' ? place.path : `Secret ${place.namespace}/${SEAL_SECRET}`;

/** Reads the keys; undefined where there is no ring yet. */
export async function readRing(kube: KubeClient, place: RingPlace): Promise<RingKeys | undefined> {
  if (place.kind === 'file') return readEntries(place.path);
  const found = await kube.get<Secret>(keyOf(place.namespace));
  return found && decoded(found);
}

/**
 * Adds keys to a ring, or makes it of them. Keys that are there stay: the newest signs, all verify.
 *
 * @returns ids of the keys that were added
 * @throws CliError where a key of the same id is another one
 */
export async function addToRing(kube: KubeClient, place: RingPlace, keys: RingKeys): Promise<string[]> {
  for (;;) {
    const known = place.kind === 'file' ? undefined : await kube.get<Secret>(keyOf(place.namespace));
    const there = place.kind === 'file' ? await readEntries(place.path) : known && decoded(known);
    const added = missingFrom(there ?? {}, keys, describeRing(place));
    if (added.length === 0) return [];
    if (place.kind === 'file') {
      await writeJson(place.path, { ...there, ...keys });
      return added;
    }
    const more = Object.fromEntries(added.map((id) => [id, encoded(keys[id] ?? '')]));
    try {
      if (known === undefined) await kube.create({ ...newSecret(place.namespace), data: more });
      else await kube.replace<Secret>({ ...known, ...TYPE, data: { ...known.data, ...more } });
      return added;
    } catch (error) {
      // A bridge that starts has made it, or somebody rotates the keys.
      if (!isAlreadyExists(error) && !isConflict(error)) throw error;
    }
  }
}

function missingFrom(there: RingKeys, keys: RingKeys, where: string): string[] {
  const differing = Object.keys(keys).find((id) => there[id] !== undefined && there[id] !== keys[id]);
  if (differing !== undefined) {
    throw new CliError(`${where} has another key "${differing}" than the archive; nothing was restored`, {
      hints: ['compare the two by hand: one of them was not made by Drover'],
    });
  }
  return Object.keys(keys).filter((id) => there[id] === undefined);
}

const TYPE = { apiVersion: 'v1', kind: 'Secret' } as const;
const keyOf = (namespace: string) => ({ ...TYPE, namespace, name: SEAL_SECRET });
const newSecret = (namespace: string): Secret => ({
  ...TYPE,
  type: 'Opaque',
  metadata: { namespace, name: SEAL_SECRET },
});

const encoded = (text: string): string => Buffer.from(text).toString('base64');
const decoded = ({ data = {} }: Secret): RingKeys =>
  Object.fromEntries(
    Object.entries(data).map(([id, value]) => [id, Buffer.from(value, 'base64').toString('utf8')]),
  );
