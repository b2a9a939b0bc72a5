/** Where a workflow comes from, as Temporal states it: by this a part of a run is told from a stranger under its id. */
import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { orNone } from './calls.js';
import type { Call } from './calls.js';
import { historyPages } from './history-pages.js';

/** One run of a workflow id. */
export interface RunRef {
  workflowId: string;
  runId: string;
}

/** Never changes. */
export interface Origin {
  /** The run that its chain began with: continuing as new and a reset do not change it. */
  firstRunId: string;
  /** The workflow that has started it. */
  parent?: RunRef;
}

/** Where runs come from. */
export interface Origins {
  /** Undefined where Temporal knows no such run. Kept: asked again, it costs no call. */
  of(run: RunRef): Promise<Origin | undefined>;
  /** Whether two runs of one id belong to one chain, as one and its reset do. */
  areOneChain(a: RunRef, b: RunRef): Promise<boolean>;
  /** The newest child that a run has started under a workflow id, by its history. */
  newestChild(
    run: { workflowId: string; runId?: string | undefined },
    workflowId: string,
  ): Promise<RunRef | undefined>;
}

/** A run takes about a hundred bytes. */
const KEPT_RUNS = 20_000;

/** What a description says of the origin. */
export function originOf({ workflowExecutionInfo: info }: Described, runId: string): Origin {
  const { workflowId, runId: parentRunId } = info?.parentExecution ?? {};
  const parent = workflowId && parentRunId ? { workflowId, runId: parentRunId } : undefined;
  return { firstRunId: info?.firstRunId || runId, ...(parent !== undefined && { parent }) };
}

interface Described {
  workflowExecutionInfo?: {
    firstRunId?: string | null;
    parentExecution?: { workflowId?: string | null; runId?: string | null } | null;
  } | null;
}

/** Origins over a client. */
export function createOrigins(client: Client, call: Call): Origins {
  const kept = new LRUCache<string, Origin>({ max: KEPT_RUNS });

  async function of({ workflowId, runId }: RunRef): Promise<Origin | undefined> {
    const known = kept.get(runId);
    if (known !== undefined) return known;
    const found = await orNone(() => call(() => client.workflow.getHandle(workflowId, runId).describe()));
    if (found === undefined) return undefined;
    const origin = originOf(found.raw, runId);
    kept.set(runId, origin);
    return origin;
  }

  return {
    of,
    async areOneChain(a, b) {
      if (a.runId === b.runId) return true;
      const [one, other] = await Promise.all([of(a), of(b)]);
      // The earlier of the two may be forgotten already.
      return (one?.firstRunId ?? a.runId) === (other?.firstRunId ?? b.runId);
    },
    async newestChild(run, workflowId) {
      for await (const events of historyPages(client, { ...run, newestFirst: true })) {
        for (const { childWorkflowExecutionStartedEventAttributes: started } of events) {
          const { workflowId: id, runId } = started?.workflowExecution ?? {};
          if (id === workflowId && runId) return { workflowId, runId };
        }
      }
      return undefined;
    },
  };
}
