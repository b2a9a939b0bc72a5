import type { Dispatcher } from 'undici';
import { KubeError } from './error.js';

/** A change that a watch reports. */
export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { type: 'BOOKMARK'; object: { metadata: { resourceVersion: string } } };

interface ErrorEvent {
  type: 'ERROR';
  object: { code?: number; reason?: string; message?: string };
}

/**
 * Reads the lines of a watch answer.
 *
 * @throws KubeError for an ERROR event (410 `Expired` means: list again) and `Unreachable` for a broken connection.
 */
export async function* readWatch<T>(
  body: Dispatcher.ResponseData['body'],
  signal: AbortSignal | undefined,
): AsyncGenerator<WatchEvent<T>> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of body) {
      const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.trim() === '') continue;
        const event = JSON.parse(line) as WatchEvent<T> | ErrorEvent;
        if (event.type === 'ERROR') {
          throw new KubeError(event.object.message ?? 'watch failed', {
            code: event.object.code ?? 500,
            reason: event.object.reason ?? 'WatchError',
          });
        }
        yield event;
      }
    }
  } catch (error) {
    if (error instanceof KubeError || signal?.aborted === true) throw error;
    throw new KubeError(`watch broke off: ${error instanceof Error ? error.message : String(error)}`, {
      code: 0,
      reason: 'Unreachable',
      cause: error,
    });
  }
}
