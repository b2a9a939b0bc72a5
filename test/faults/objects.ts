/** Sees every change of the objects that journeys make, from beside: what existed when, under which uid, with what in it. */
import { API_VERSION } from '../../api/core/group.js';
import type { KubeClient } from '../../kube/client.js';
import { createInformer } from '../../kube/informer.js';
import type { Cacheable, Change, Informer } from '../../kube/informer.js';
import type { KubeObject } from '../../kube/object.js';

export const WATCHED = {
  DRPlan: API_VERSION,
  DRPlanExecution: API_VERSION,
  Job: 'batch/v1',
  ConfigMap: 'v1',
  Secret: 'v1',
  ControllerRevision: 'apps/v1',
  Localization: 'apps.clusternet.io/v1alpha1',
  Subscription: 'apps.clusternet.io/v1alpha1',
} as const;
export type WatchedKind = keyof typeof WATCHED;

/** The life of everything that had one name. */
export interface Life {
  /** Every object that ever had the name, in order. */
  uids: string[];
  /** What its content was, in order, without repetitions. */
  contents: string[];
  exists: boolean;
}

export interface Objects {
  life(kind: WatchedKind, name: string): Life;
  get<T>(kind: WatchedKind, name: string): T | undefined;
  /** All that exist now or existed and whose name begins with the prefix. */
  names(kind: WatchedKind, prefix: string): string[];
  onChange(kind: WatchedKind, handler: (change: Change<Cacheable>) => void): void;
  close(): Promise<void>;
}

/** Begins to watch. Names are unique over all namespaces here. */
export async function watchObjects(kube: KubeClient): Promise<Objects> {
  const abort = new AbortController();
  const lives = new Map<string, Life>();
  const informers = new Map<WatchedKind, Informer>();
  const running: Promise<void>[] = [];

  for (const [kind, apiVersion] of Object.entries(WATCHED) as [WatchedKind, string][]) {
    const informer = createInformer({ kube, apiVersion, kind, backoff: { minMs: 100, maxMs: 1000 } });
    informer.onChange(({ kind: what, object }) => {
      const life = lifeOf(lives, kind, object.metadata.name);
      life.exists = what === 'set';
      const uid = object.metadata.uid ?? '';
      if (life.uids.at(-1) !== uid) life.uids.push(uid);
      const content = contentOf(kind, object);
      if (what === 'set' && life.contents.at(-1) !== content) life.contents.push(content);
    });
    informers.set(kind, informer);
    running.push(informer.run(abort.signal));
  }
  await Promise.all([...informers.values()].map((informer) => informer.whenSynced()));

  return {
    life: (kind, name) => lifeOf(lives, kind, name),
    get: (kind, name) =>
      informers
        .get(kind)
        ?.list()
        .find((object) => object.metadata.name === name) as never,
    names: (kind, prefix) =>
      [...lives.keys()]
        .map((key) => key.split('/') as [string, string])
        .flatMap(([of, name]) => (of === kind && name.startsWith(prefix) ? [name] : [])),
    onChange: (kind, handler) => informers.get(kind)?.onChange(handler),
    async close() {
      abort.abort();
      await Promise.all(running);
    },
  };
}

function lifeOf(lives: Map<string, Life>, kind: string, name: string): Life {
  const key = `${kind}/${name}`;
  const life = lives.get(key) ?? { uids: [], contents: [], exists: false };
  lives.set(key, life);
  return life;
}

/** What of an object tells whether it was changed by an action. */
function contentOf(kind: WatchedKind, object: Cacheable): string {
  const { data, spec } = object as KubeObject & { data?: unknown; spec?: unknown };
  switch (kind) {
    case 'ConfigMap':
      return JSON.stringify(data ?? {});
    case 'Localization':
    case 'Subscription':
      return JSON.stringify(spec ?? {});
    default:
      return '';
  }
}
