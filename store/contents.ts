/** Contents on their way into the store and out of it. */
import { createHash, randomBytes } from 'node:crypto';
import { StoreDamaged, type Backend } from './backend.js';
import type { Seals } from './seals.js';
import type { Content } from './rows.js';

/** Keeps contents of workspaces. */
export interface Contents {
  /**
   * Keeps a content. It belongs to nobody until a row names it; one that none names within a day is swept.
   *
   * @param accept called with the digest once the source has ended; throws where the content is not wanted
   */
  keep(
    workspace: string,
    source: AsyncIterable<Uint8Array>,
    accept?: (digest: string) => void,
  ): Promise<Content>;
  /** Gives out a content; throws StoreDamaged at the latest at its end where it is not what was kept. */
  read(workspace: string, content: Content): AsyncIterable<Buffer>;
  /** Removes a content that no row names. */
  discard(workspace: string, content: Content): Promise<void>;
}

/** Contents as sealed blobs, each under a name of its own that begins with its keyed digest. */
export function createContents(backend: Backend, seals: Seals): Contents {
  return {
    async keep(workspace, source, accept) {
      const hash = createHash('sha256');
      let bytes = 0;
      let kept: Content | undefined;
      const counted = async function* (): AsyncIterable<Uint8Array> {
        for await (const chunk of source) {
          hash.update(chunk);
          bytes += chunk.length;
          yield chunk;
        }
        const digest = hash.digest('hex');
        accept?.(digest);
        const keyed = await seals.keyedDigest(workspace, digest);
        // One blob for one row: what a row drops can be removed, whatever other rows there are.
        kept = { digest, bytes, keyed, blob: `${keyed}.${randomBytes(8).toString('hex')}` };
      };
      await backend.putBlob(workspace, seals.sealBlob(workspace, counted()), () => kept!.blob);
      return kept!;
    },
    async *read(workspace, { digest, blob }) {
      const hash = createHash('sha256');
      for await (const chunk of seals.openBlob(workspace, backend.getBlob(workspace, blob))) {
        hash.update(chunk);
        yield chunk;
      }
      // Each chunk is genuine; this says that it is the content of this row.
      if (hash.digest('hex') !== digest)
        throw new StoreDamaged(`the content ${blob} is genuine, but another one than its row says`);
    },
    discard: (workspace, { blob }) => backend.deleteBlob(workspace, blob).catch(() => undefined),
  };
}
