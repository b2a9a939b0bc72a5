import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { expectOk, type KubeApi, type KubeObject, type KubeResponse } from './kube-api.js';

const fieldManager = 'drover-local';

/**
 * Reads every `*.yaml`, `*.yml` and `*.json` file of a folder, in name order.
 *
 * @throws Error naming the file when the folder or a document cannot be read.
 */
export async function readObjects(folder: string): Promise<KubeObject[]> {
  const objects: KubeObject[] = [];
  for (const name of (await readdir(folder)).sort()) {
    if (!/\.(ya?ml|json)$/.test(name)) continue;
    const file = join(folder, name);
    for (const document of parseAllDocuments(await readFile(file, 'utf8'))) {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]!.message}`);
      const value = document.toJS() as KubeObject | null;
      if (value === null) continue;
      if (!value.apiVersion || !value.kind || !value.metadata?.name) {
        throw new Error(`${file}: a document lacks apiVersion, kind or metadata.name`);
      }
      objects.push(value);
    }
  }
  return objects;
}

/** Applies objects to one cluster; looks up each kind's REST path once. */
export class Applier {
  readonly #api: KubeApi;
  readonly #resources = new Map<string, Promise<Map<string, { plural: string; namespaced: boolean }>>>();

  constructor(api: KubeApi) {
    this.#api = api;
  }

  /**
   * Applies an object by server-side apply, taking over fields others own.
   *
   * @throws Error naming the object and the server's answer.
   */
  async apply(object: KubeObject): Promise<KubeObject> {
    const response = await this.#send(object, '');
    return expectOk(response, `applying ${object.kind} ${object.metadata.name}`) as KubeObject;
  }

  /**
   * Asks what applying an object would do, changing nothing: `forbidden` when it
   * is there but may not be changed.
   *
   * @throws Error naming the object and the server's answer.
   */
  async wouldChange(object: KubeObject): Promise<'yes' | 'no' | 'forbidden'> {
    const what = `${object.kind} ${object.metadata.name}`;
    const live = await this.#api.request('GET', await this.path(object));
    if (live.status === 404) return 'yes';
    const before = expectOk(live, `reading ${what}`) as KubeObject;
    const trial = await this.#send(object, '&dryRun=All');
    if (trial.status === 403) return 'forbidden';
    const after = expectOk(trial, `trying to apply ${what}`) as KubeObject;
    return after.metadata.generation === before.metadata.generation ? 'no' : 'yes';
  }

  async #send(object: KubeObject, query: string): Promise<KubeResponse> {
    const path = await this.path(object);
    return this.#api.request('PATCH', `${path}?fieldManager=${fieldManager}&force=true${query}`, {
      body: object,
      contentType: 'application/apply-patch+yaml',
    });
  }

  /** The REST path of an object. @throws Error when the server does not know its kind. */
  async path(object: KubeObject): Promise<string> {
    const prefix = object.apiVersion.includes('/')
      ? `/apis/${object.apiVersion}`
      : `/api/${object.apiVersion}`;
    const resource = (await this.#kinds(prefix)).get(object.kind);
    if (resource === undefined) {
      this.#resources.delete(prefix);
      throw new Error(
        `the cluster at ${this.#api.server} does not serve kind ${object.kind} of ${object.apiVersion}`,
      );
    }
    const namespace = resource.namespaced ? `/namespaces/${object.metadata.namespace ?? 'default'}` : '';
    return `${prefix}${namespace}/${resource.plural}/${object.metadata.name}`;
  }

  #kinds(prefix: string): Promise<Map<string, { plural: string; namespaced: boolean }>> {
    let found = this.#resources.get(prefix);
    if (found === undefined) {
      found = this.#discover(prefix);
      this.#resources.set(prefix, found);
      found.catch(() => this.#resources.delete(prefix));
    }
    return found;
  }

  async #discover(prefix: string): Promise<Map<string, { plural: string; namespaced: boolean }>> {
    const list = expectOk(await this.#api.request('GET', prefix), `looking up ${prefix}`) as {
      resources: { name: string; kind: string; namespaced: boolean }[];
    };
    return new Map(
      list.resources
        .filter((r) => !r.name.includes('/'))
        .map((r) => [r.kind, { plural: r.name, namespaced: r.namespaced }]),
    );
  }

  /**
   * Applies CustomResourceDefinitions and waits until they are served.
   *
   * @throws Error naming what is not served after 30 s, with the server's reason.
   */
  async applyDefinitions(objects: KubeObject[]): Promise<void> {
    await Promise.all(objects.map((object) => this.apply(object)));
    const definitions = objects.filter((o) => o.kind === 'CustomResourceDefinition');
    await Promise.all(definitions.map((definition) => this.#waitServed(definition)));
  }

  async #waitServed(definition: KubeObject): Promise<void> {
    const path = await this.path(definition);
    const deadline = Date.now() + 30_000;
    for (;;) {
      const body = expectOk(await this.#api.request('GET', path), `reading ${definition.metadata.name}`) as {
        status?: { conditions?: { type: string; status: string; message?: string }[] };
      };
      const conditions = body.status?.conditions ?? [];
      if (conditions.some((c) => c.type === 'Established' && c.status === 'True')) return;
      if (Date.now() > deadline) {
        const why = conditions.find((c) => c.status === 'False')?.message ?? 'no reason given';
        throw new Error(`custom resource ${definition.metadata.name} is not served after 30 s: ${why}`);
      }
      await sleep(50);
    }
  }
}
