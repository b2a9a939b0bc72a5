import { createHash } from 'node:crypto';
import type { KubeClient } from '../../kube/client.js';
import { isAlreadyExists } from '../../kube/error.js';
import type { Cacheable } from '../../kube/informer.js';
import type { OnWrite } from './status-writer.js';

/** An event to record. */
export interface EventNote {
  type: 'Normal' | 'Warning';
  /** CamelCase, stable. */
  reason: string;
  /** What the bridge was doing: CamelCase. */
  action: string;
  message: string;
  /** Distinguishes events with the same reason on one object; the same key is recorded once. */
  key?: string;
}

/** Records what happened to an object. Best effort: never rejects, never makes the caller wait. */
export interface EventRecorder {
  record(object: Cacheable, note: EventNote): void;
  /** Sends at once what was put off, and waits until it is sent. */
  flush(): Promise<void>;
}

const MAX_NOTE_LENGTH = 1000;
const MAX_NAME_LENGTH = 230;
/** Normal events are sent this much later, so that the steps of a run come first. */
const NORMAL_DELAY_MS = 1000;

/**
 * A recorder that writes events.k8s.io/v1: one object per event, no counting. The name is derived from the content, so
 * that retries, restarts and other replicas meet AlreadyExists instead of writing the event twice.
 */
export function createEventRecorder(options: {
  kube: KubeClient;
  controller: string;
  instance: string;
  onWrite: OnWrite;
  onError: (error: unknown) => void;
}): EventRecorder {
  const pending = new Set<Promise<void>>();
  const putOff = new Map<NodeJS.Timeout, () => void>();

  function track(sent: Promise<void>): void {
    pending.add(sent);
    void sent.finally(() => pending.delete(sent));
  }

  return {
    record(object, note) {
      const eventTime = new Date().toISOString().replace('Z', '000Z');
      const tellNow = (): void => {
        track(send(object, note, eventTime));
      };
      if (note.type === 'Warning') {
        tellNow();
        return;
      }
      const timer = setTimeout(() => {
        putOff.delete(timer);
        tellNow();
      }, NORMAL_DELAY_MS);
      putOff.set(timer, tellNow);
    },
    async flush() {
      for (const [timer, tellNow] of putOff) {
        clearTimeout(timer);
        tellNow();
      }
      putOff.clear();
      await Promise.all(pending);
    },
  };

  async function send(object: Cacheable, note: EventNote, eventTime: string): Promise<void> {
    const { name, namespace, uid } = object.metadata;
    const id = createHash('sha256')
      .update([uid, note.reason, note.key ?? ''].join('\n'))
      .digest('hex')
      .slice(0, 16);
    try {
      await options.kube.create({
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: `${name.slice(0, MAX_NAME_LENGTH)}.${id}`, namespace: namespace ?? 'default' },
        eventTime,
        reportingController: options.controller,
        reportingInstance: options.instance.slice(0, 128),
        type: note.type,
        reason: note.reason,
        action: note.action,
        note:
          note.message.length > MAX_NOTE_LENGTH
            ? `${note.message.slice(0, MAX_NOTE_LENGTH - 1)}…`
            : note.message,
        regarding: {
          apiVersion: object.apiVersion,
          kind: object.kind,
          name,
          ...(namespace !== undefined && { namespace }),
          ...(uid !== undefined && { uid }),
        },
      });
      options.onWrite({ kind: 'Event', verb: 'create', result: 'ok' });
    } catch (error) {
      if (isAlreadyExists(error)) return;
      options.onWrite({ kind: 'Event', verb: 'create', result: 'error' });
      options.onError(error);
    }
  }
}
