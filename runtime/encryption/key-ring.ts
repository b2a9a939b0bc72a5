/** Entry of the ring that names the key new payloads are encrypted with. */
const ACTIVE = 'active';
const KEY_BYTES = 32;
const KEY_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** A key and its name. */
export interface EncryptionKey {
  id: string;
  /** 32 bytes. */
  secret: Buffer;
}

/** The keys of one moment. */
export interface Keys {
  active: EncryptionKey;
  byId: ReadonlyMap<string, EncryptionKey>;
}

/** Reads the entries of a ring, by name: from a folder, or from a Secret. */
export type KeySource = () => Promise<Readonly<Record<string, string>>>;

/** Keys that may be rotated while programs run. */
export interface KeyRing {
  /** The key for new payloads. */
  active(): Promise<EncryptionKey>;
  /** The key of an id; looked for once more at its source before it counts as unknown. */
  find(id: string): Promise<EncryptionKey | undefined>;
}

/** A ring that cannot be used; says which entry, and what is allowed. */
export class KeyRingError extends Error {
  override name = 'KeyRingError';
}

/**
 * Makes keys from a ring's entries: each maps a key's id to 32 bytes in base64; `active` holds the id of the key that
 * encrypts, and may be left out while there is only one key.
 *
 * @throws KeyRingError
 */
export function parseKeys(entries: Readonly<Record<string, string>>): Keys {
  const byId = new Map<string, EncryptionKey>();
  for (const [id, value] of Object.entries(entries)) {
    if (id === ACTIVE) continue;
    if (!KEY_ID.test(id)) {
      throw new KeyRingError(
        `key id ${JSON.stringify(id)}: letters, digits, ".", "_" and "-", at most 63 of them`,
      );
    }
    const secret = Buffer.from(value.trim(), 'base64');
    if (secret.length !== KEY_BYTES || secret.toString('base64') !== value.trim()) {
      throw new KeyRingError(
        `key "${id}" is not ${KEY_BYTES} bytes in base64; make one with: openssl rand -base64 ${KEY_BYTES}`,
      );
    }
    byId.set(id, { id, secret });
  }
  const ids = [...byId.keys()];
  const wanted = entries[ACTIVE]?.trim() ?? (ids.length === 1 ? ids[0] : undefined);
  if (wanted === undefined) {
    throw new KeyRingError(
      ids.length === 0
        ? 'there is no key in the ring'
        : `the entry "${ACTIVE}" has to name one of ${ids.join(', ')}`,
    );
  }
  const active = byId.get(wanted);
  if (active === undefined) {
    throw new KeyRingError(`"${ACTIVE}" names the key "${wanted}"; there are ${ids.join(', ') || 'none'}`);
  }
  return { active, byId };
}

/**
 * Opens a ring. It is read again when an unknown key is met and when it was read longer ago than `maxAgeMs`; if the
 * ring has become unusable, the last good keys stay in use, and `onFault` is called.
 *
 * @throws KeyRingError when the first reading gives no usable ring
 */
export async function openKeyRing(options: {
  source: KeySource;
  /** How old the keys may be, in milliseconds (default 30 s). */
  maxAgeMs?: number;
  now?: () => number;
  onFault: (error: unknown) => void;
}): Promise<KeyRing> {
  const { source, maxAgeMs = 30_000, now = Date.now, onFault } = options;
  let keys = parseKeys(await source());
  let readAt = now();
  let reading: Promise<void> | undefined;

  const read = (): Promise<void> =>
    (reading ??= source()
      .then((entries) => {
        keys = parseKeys(entries);
      })
      .catch(onFault)
      .finally(() => {
        readAt = now();
        reading = undefined;
      }));

  return {
    async active() {
      if (now() - readAt > maxAgeMs) await read();
      return keys.active;
    },
    async find(id) {
      if (!keys.byId.has(id)) await read();
      return keys.byId.get(id);
    },
  };
}
