import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminalExecution } from '../../../../api/core/phase.js';
import type { DRPlanExecution } from '../../../../api/plan/types.js';
import type { Cluster } from '../../core/cluster.js';
import type { CommandContext } from '../../core/context.js';
import { EXIT } from '../../core/exit-codes.js';
import { onInterrupt } from '../../core/interrupt.js';
import { entryKey, type LogEntry, sortEntries } from '../log-sources/entry.js';
import { readEvents } from '../log-sources/events.js';
import { readLogFiles } from '../log-sources/files.js';
import type { HistoryReader } from '../log-sources/history.js';
import { statusEntries } from '../log-sources/status.js';
import { logLine } from '../render/log-line.js';
import { getObject } from '../../core/resources.js';
import { openTemporal, type TemporalAccess, temporalTarget } from '../../core/temporal.js';
import { executionArgument } from '../../core/name-argument.js';

/** Options of `drover logs`. */
export interface LogsOptions {
  follow?: boolean;
  output?: 'json';
}

const FOLLOW_PAUSE_MS = 1000;

/** Tells what happened in a run; with `--follow` until it ends. */
export async function logs(context: CommandContext, text: string, options: LogsOptions): Promise<number> {
  const name = executionArgument(text);
  const cluster = await context.openCluster();
  const sources = createSources(context, cluster);
  const interrupt = onInterrupt();
  const printed = new Set<string>();
  let sawEnd = false;
  try {
    for (;;) {
      const execution = await getObject(
        cluster.kube,
        'DRPlanExecution',
        cluster.namespace,
        name,
        context.say,
      );
      const ended = isTerminalExecution(execution.status?.phase);
      for (const entry of sortEntries(await sources.read(execution))) {
        const key = entryKey(entry);
        if (printed.has(key)) continue;
        printed.add(key);
        const { terminal } = context;
        terminal.out(
          options.output === 'json'
            ? JSON.stringify({ ...entry, key: undefined })
            : logLine(entry, terminal.outStyle),
        );
      }
      // The last Events and log lines come a moment after the status: one more look.
      if (options.follow !== true || sawEnd) return EXIT.ok;
      sawEnd = ended;
      await sleep(FOLLOW_PAUSE_MS, undefined, { signal: interrupt.signal }).catch(() => undefined);
      if (interrupt.interrupted()) return EXIT.interrupted;
    }
  } finally {
    interrupt.dispose();
    await sources.close();
  }
}

interface Sources {
  read(execution: DRPlanExecution): Promise<LogEntry[]>;
  close(): Promise<void>;
}

/** All sources there are. One that fails is reported once and left out: the others still say something. */
function createSources(context: CommandContext, cluster: Cluster): Sources {
  const complaints = new Set<string>();
  let temporal: Promise<TemporalAccess> | undefined;
  let reader: HistoryReader | undefined;

  async function orNothing(what: string, work: () => Promise<LogEntry[]>): Promise<LogEntry[]> {
    try {
      return await work();
    } catch (error) {
      const text = `without ${what}: ${error instanceof Error ? error.message : String(error)}`;
      if (!complaints.has(what)) context.terminal.note(context.terminal.noteStyle.warn(text));
      complaints.add(what);
      return [];
    }
  }

  async function history(execution: DRPlanExecution): Promise<LogEntry[]> {
    const workflowId = execution.status?.temporal?.workflowId;
    if (workflowId === undefined || complaints.has('Temporal')) return [];
    if (temporalTarget(context, cluster, execution.status?.temporal?.namespace) === undefined) {
      throw new Error('its address is not known; pass --temporal HOST:PORT or set TEMPORAL_ADDRESS');
    }
    temporal ??= openTemporal(context, cluster, execution);
    const { client } = await temporal;
    if (reader === undefined) {
      const { createHistoryReader } = await import('../log-sources/history.js');
      reader = createHistoryReader(client);
    }
    const stages = (execution.status?.stageStatuses ?? []).map((stage) => stage.name);
    const entries = await reader.read(workflowId, stages);
    if (entries === undefined) throw new Error('it does not know this run (any more)');
    return entries;
  }

  return {
    async read(execution) {
      const marks = [execution.metadata.uid, execution.status?.temporal?.workflowId].filter(
        (mark) => mark !== undefined,
      );
      const groups = await Promise.all([
        Promise.resolve(statusEntries(execution)),
        orNothing('Events', () => readEvents(cluster.kube, execution)),
        orNothing('Temporal', () => history(execution)),
        orNothing('log files', () =>
          cluster.embedded === undefined
            ? Promise.resolve([])
            : readLogFiles(cluster.embedded.paths.logs, marks),
        ),
      ]);
      return groups.flat();
    },
    async close() {
      const access = await temporal?.catch(() => undefined);
      await access?.close();
    },
  };
}
