import type { DRPlanExecution } from '../../../../api/plan/types.js';
import type { KubeClient } from '../../../../kube/client.js';
import type { LogEntry } from './entry.js';

/** An Event of Kubernetes, core/v1; only what is shown. */
export interface KubeEvent {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  eventTime?: string | null;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  metadata: { creationTimestamp?: string };
}

/** The Events that speak of an execution. */
export async function readEvents(kube: KubeClient, execution: DRPlanExecution): Promise<LogEntry[]> {
  const { namespace = 'default', name, uid } = execution.metadata;
  const list = await kube.list<KubeEvent>(
    { apiVersion: 'v1', kind: 'Event' },
    { namespace, fieldSelector: `involvedObject.uid=${uid}`, limit: 1000 },
  );
  return list.items.flatMap((event) => eventEntry(event, name));
}

/** An Event as an entry; none when it carries no time. */
export function eventEntry(event: KubeEvent, subject: string): LogEntry[] {
  const time =
    event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp ?? event.metadata.creationTimestamp;
  if (time === undefined) return [];
  const times = (event.count ?? 1) > 1 ? ` (${event.count} times)` : '';
  return [
    {
      time,
      source: 'event',
      level: event.type === 'Warning' ? 'warn' : 'info',
      subject,
      text: `${event.reason ?? ''}: ${event.message ?? ''}${times}`,
    },
  ];
}
