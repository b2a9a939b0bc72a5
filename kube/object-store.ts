/** What a cache needs to know of an object, however it is typed. */
export interface Cacheable {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
  };
  status?: object;
  /** Only on an object that `trim` has reduced so far that it is enough to decide by, but not to write from. */
  stub?: object;
}

/** What happened to an object of a cache. */
export type Change<T> = { kind: 'set'; object: T; previous?: T } | { kind: 'gone'; object: T };

/** An object as a list of names and versions shows it. */
export interface Listed {
  namespace: string | undefined;
  name: string;
  uid: string | undefined;
  resourceVersion: string | undefined;
}

/**
 * The objects of one kind, put together from lists, watches and answers to writes, which overtake each other: the newest
 * version counts, and what is gone stays gone.
 */
export interface ObjectStore<T extends Cacheable> {
  get: (namespace: string | undefined, name: string) => T | undefined;
  list: () => T[];
  size: () => number;
  /** Takes an object in, unless a newer one is known. */
  set: (raw: T) => void;
  /** @param at version at which it was seen to be gone */
  remove: (object: T, at: string | undefined) => void;
  /** Takes out what a complete list of that version does not have. */
  keepOnly: (uids: ReadonlySet<string | undefined>, version: string) => void;
  /** The server's storage was set back: until the next complete list, earlier versions mean nothing. */
  setBack: () => void;
  /** Compares what is here with a complete list of names and versions. */
  compare: (items: readonly Listed[], version: string) => Comparison<T>;
  /** Calls the handler for every object there is, and for every change from now on. */
  onChange: (handler: (change: Change<T>) => void) => void;
}

/** How the objects here differ from a complete list. */
export interface Comparison<T> {
  /** Listed, and here not, or in an earlier version. */
  missed: Listed[];
  /** Here, and not listed any more. */
  left: T[];
  /** A listed version is older than the one here: the server's storage was set back. */
  isSetBack: boolean;
}

const TOMBSTONES = 4096;

/** An empty store. */
export function createObjectStore<T extends Cacheable>({
  apiVersion,
  kind,
  trim,
}: {
  apiVersion: string;
  kind: string;
  trim: (object: T) => T;
}): ObjectStore<T> {
  const objects = new Map<string, T>();
  const handlers: ((change: Change<T>) => void)[] = [];
  const tombstones = createTombstones();
  let wasSetBack = false;

  const emit = (change: Change<T>): void => {
    for (const handler of handlers) handler(change);
  };

  function set(raw: T): void {
    const { uid } = raw.metadata;
    if (tombstones.covers(raw.metadata)) return;
    const key = keyOf(raw.metadata.namespace, raw.metadata.name);
    const previous = objects.get(key);
    const sameUid = previous !== undefined && previous.metadata.uid === uid;
    if (sameUid && !wasSetBack && !isNewer(raw.metadata.resourceVersion, previous.metadata.resourceVersion))
      return;
    // Lists leave out the type of their items.
    const typed: T = { ...raw, apiVersion, kind };
    const object = trim(typed);
    objects.set(key, object);
    if (previous !== undefined && !sameUid) emit({ kind: 'gone', object: previous });
    emit({ kind: 'set', object, ...(sameUid && { previous }) });
  }

  function remove(object: T, at: string | undefined): void {
    tombstones.add(object.metadata.uid, at);
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const known = objects.get(key);
    if (known === undefined || known.metadata.uid !== object.metadata.uid) return;
    objects.delete(key);
    emit({ kind: 'gone', object: known });
  }

  return {
    get: (namespace, name) => objects.get(keyOf(namespace, name)),
    list: () => [...objects.values()],
    size: () => objects.size,
    set,
    remove,
    keepOnly(uids, version) {
      for (const object of [...objects.values()]) {
        // What a write of our own added after the list was taken stays.
        const isLater = !wasSetBack && isNewer(object.metadata.resourceVersion, version);
        if (!uids.has(object.metadata.uid) && !isLater) remove(object, version);
      }
      wasSetBack = false;
    },
    setBack() {
      wasSetBack = true;
      tombstones.clear();
    },
    compare: (items, version) => compare(objects, items, version, tombstones.covers),
    onChange(handler) {
      handlers.push(handler);
      for (const object of objects.values()) handler({ kind: 'set', object });
    },
  };
}

function compare<T extends Cacheable>(
  objects: ReadonlyMap<string, T>,
  items: readonly Listed[],
  version: string,
  isGone: (item: Listed) => boolean,
): Comparison<T> {
  let isSetBack = false;
  const missed = items.filter((item) => {
    const known = objects.get(keyOf(item.namespace, item.name))?.metadata;
    if (known === undefined) return !isGone(item);
    if (known.uid !== item.uid) return !isNewer(known.resourceVersion, version);
    if (isNewer(item.resourceVersion, known.resourceVersion)) return true;
    // The list should have had this version: the server was set back and has counted on past it since.
    const isUndone = item.resourceVersion !== known.resourceVersion;
    if (!isUndone || isNewer(known.resourceVersion, version)) return false;
    isSetBack = true;
    return true;
  });
  const present = new Set(items.map(({ uid }) => uid));
  const left = [...objects.values()].filter(
    ({ metadata }) => !present.has(metadata.uid) && !isNewer(metadata.resourceVersion, version),
  );
  return { missed, left, isSetBack };
}

/** By uid, the version at which an object disappeared. */
interface Tombstones {
  add: (uid: string | undefined, at: string | undefined) => void;
  /**
   * Whether an object is gone: a late answer to a write must not bring it back. One that only stopped matching the
   * selector may come back, with a newer version.
   */
  covers: (seen: { uid?: string | undefined; resourceVersion?: string | undefined }) => boolean;
  clear: () => void;
}

function createTombstones(): Tombstones {
  const goneAt = new Map<string, string>();
  return {
    add(uid, at) {
      if (uid === undefined || at === undefined) return;
      goneAt.set(uid, at);
      if (goneAt.size > TOMBSTONES) goneAt.delete(goneAt.keys().next().value ?? '');
    },
    covers({ uid, resourceVersion }) {
      const at = uid === undefined ? undefined : goneAt.get(uid);
      return at !== undefined && !isNewer(resourceVersion, at);
    },
    clear: () => goneAt.clear(),
  };
}

/** How an object is called within its kind. */
export const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

/** Resource versions of one server are integers of growing size; a longer one is a later one. */
export function isNewer(candidate: string | undefined, known: string | undefined): boolean {
  if (candidate === undefined || known === undefined) return true;
  return candidate.length === known.length ? candidate > known : candidate.length > known.length;
}
