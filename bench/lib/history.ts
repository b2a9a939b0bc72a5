import { isGrpcServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import type { KubeObject } from '../../kube/object.js';
import { stageWorkflowId } from '../../workflows/plan/contract.js';
import type { Bench } from './bench.js';
import type { Figure } from './figures.js';
import { median } from './statistics.js';

/** What one run has left in Temporal. */
export interface RunHistory {
  workflows: number;
  events: number;
  bytes: number;
  /** Events of its largest workflow. */
  largest: number;
}

/** gRPC's own number. */
const NOT_FOUND = 5;
/** Runs that are looked at: all of one shape leave the same. */
const SAMPLE = 3;

/** Asks Temporal how long the histories of a run and of its stages are; undefined where it is not known. */
export async function historyOf(bench: Bench, object: KubeObject): Promise<RunHistory | undefined> {
  const status = (object as { status?: { temporal?: { workflowId?: string }; stageStatuses?: unknown[] } })
    .status;
  const id = status?.temporal?.workflowId;
  const client = bench.system.temporal?.client;
  if (id === undefined || client === undefined) return undefined;
  const ids = [id, ...(status?.stageStatuses ?? []).map((_, index) => stageWorkflowId(id, index))];
  const history: RunHistory = { workflows: 0, events: 0, bytes: 0, largest: 0 };
  for (const workflowId of ids) {
    const found = await sizeOf(client, workflowId);
    if (found === undefined) continue;
    history.workflows += 1;
    history.events += found.events;
    history.bytes += found.bytes;
    history.largest = Math.max(history.largest, found.events);
  }
  return history;
}

/** Asked of the service itself: a handle would decode the memo, for which keys are needed where payloads are encrypted. */
async function sizeOf(
  client: Client,
  workflowId: string,
): Promise<{ events: number; bytes: number } | undefined> {
  try {
    const { workflowExecutionInfo: info } = await client.workflowService.describeWorkflowExecution({
      namespace: client.options.namespace,
      execution: { workflowId },
    });
    return { events: Number(info?.historyLength ?? 0), bytes: Number(info?.historySizeBytes ?? 0) };
  } catch (error) {
    // A stage that was skipped has no workflow.
    if (isGrpcServiceError(error) && Number(error.code) === NOT_FOUND) return undefined;
    throw error;
  }
}

/** Histories of some of the runs, as figures. */
export async function historyFigures(
  bench: Bench,
  prefix: string,
  objects: readonly KubeObject[],
): Promise<Figure[]> {
  const found: RunHistory[] = [];
  for (const object of objects.slice(0, SAMPLE)) {
    const history = await historyOf(bench, object);
    if (history !== undefined) found.push(history);
  }
  if (found.length === 0) return [];
  const name = (text: string): string => (prefix === '' ? text : `${prefix} ${text}`);
  const of = (key: keyof RunHistory): number => median(found.map((history) => history[key]));
  return [
    { name: name('history per run'), value: of('events'), unit: 'events', better: 'lower' },
    { name: name('history bytes per run'), value: of('bytes') / 1024, unit: 'KiB', better: 'lower' },
    {
      name: name('history of the largest workflow'),
      value: of('largest'),
      unit: 'events',
      better: 'lower',
      detail: true,
    },
    { name: name('workflows per run'), value: of('workflows'), unit: '', detail: true },
  ];
}
