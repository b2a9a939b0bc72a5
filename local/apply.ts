import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import type { KubeClient } from '../kube/client.js';
import { KubeError } from '../kube/error.js';
import type { ObjectKey, TypedObject } from '../kube/object.js';

/** Field manager of what this program applies itself. */
export const fieldManager = 'drover-local';

/**
 * Reads every `*.yaml`, `*.yml` and `*.json` file of a folder, in name order.
 *
 * @throws Error naming the file when the folder or a document cannot be read.
 */
export async function readObjects(folder: string): Promise<TypedObject[]> {
  const objects: TypedObject[] = [];
  for (const name of (await readdir(folder)).sort()) {
    if (!/\.(ya?ml|json)$/.test(name)) continue;
    const file = join(folder, name);
    for (const document of parseAllDocuments(await readFile(file, 'utf8'))) {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]!.message}`);
      const value = document.toJS() as TypedObject | null;
      if (value === null) continue;
      if (!value.apiVersion || !value.kind || !value.metadata?.name) {
        throw new Error(`${file}: a document lacks apiVersion, kind or metadata.name`);
      }
      objects.push(value);
    }
  }
  return objects;
}

/**
 * Applies an object by server-side apply, taking over fields others own.
 *
 * @throws Error naming the object and the server's answer.
 */
export const applyObject = (kube: KubeClient, object: TypedObject): Promise<TypedObject> =>
  named(`applying ${describe(object)}`, () => send(kube, object, {}));

/**
 * Asks what applying an object would do, changing nothing: `forbidden` when it
 * is there but may not be changed.
 *
 * @throws Error naming the object and the server's answer.
 */
export async function wouldChange(
  kube: KubeClient,
  object: TypedObject,
): Promise<'yes' | 'no' | 'forbidden'> {
  const before = await named(`reading ${describe(object)}`, () => kube.get(placeOf(object)));
  if (before === undefined) return 'yes';
  const after = await named(`trying to apply ${describe(object)}`, () =>
    send(kube, object, { dryRun: true }).catch((error: unknown) => {
      if (error instanceof KubeError && error.code === 403) return undefined;
      throw error;
    }),
  );
  if (after === undefined) return 'forbidden';
  return after.metadata.generation === before.metadata.generation ? 'no' : 'yes';
}

/**
 * Applies CustomResourceDefinitions and waits until they are served.
 *
 * @throws Error naming what is not served after 30 s, with the server's reason.
 */
export async function applyDefinitions(kube: KubeClient, objects: readonly TypedObject[]): Promise<void> {
  await Promise.all(objects.map((object) => applyObject(kube, object)));
  const definitions = objects.filter(({ kind }) => kind === 'CustomResourceDefinition');
  await Promise.all(definitions.map((definition) => waitServed(kube, definition)));
}

interface Definition extends TypedObject {
  status?: { conditions?: { type: string; status: string; message?: string }[] };
}

async function waitServed(kube: KubeClient, definition: TypedObject): Promise<void> {
  const { name } = definition.metadata;
  const deadline = Date.now() + 30_000;
  for (;;) {
    const found = await named(`reading ${name}`, () => kube.get<Definition>(placeOf(definition)));
    const conditions = found?.status?.conditions ?? [];
    if (conditions.some((c) => c.type === 'Established' && c.status === 'True')) return;
    if (Date.now() > deadline) {
      const why = conditions.find((c) => c.status === 'False')?.message ?? 'no reason given';
      throw new Error(`custom resource ${name} is not served after 30 s: ${why}`);
    }
    await sleep(50);
  }
}

const describe = ({ kind, metadata }: TypedObject): string => `${kind} ${metadata.name}`;

/** Like kubectl: what names no namespace goes to `default`, where its kind has namespaces. */
const placeOf = ({ apiVersion, kind, metadata }: TypedObject): ObjectKey => ({
  apiVersion,
  kind,
  namespace: metadata.namespace ?? 'default',
  name: metadata.name,
});

const send = (kube: KubeClient, object: TypedObject, options: { dryRun?: boolean }): Promise<TypedObject> =>
  kube.patch<TypedObject>(placeOf(object), object, { kind: 'apply', force: true, fieldManager, ...options });

/** Puts what was being done before the message of an error. */
async function named<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
  }
}
