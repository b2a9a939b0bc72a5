import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import type { DataPaths } from './paths.js';
import type { ProcessSpec } from './processes.js';
import type { PortName } from './state.js';

/** Search attributes every run carries, all of type Keyword. */
export const searchAttributes = ['DrCluster', 'DrNamespace', 'DrPlan', 'DrOperation', 'DrPhase'] as const;

/** How long the embedded Temporal keeps the history of a finished run; its own default is a day. */
const retentionDays = 30;

const keyword = 2; // temporal.api.enums.v1.IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD

/**
 * The embedded server has one history shard, which by default is looked at 20
 * times a second, so that every hop waits up to 50 ms; asked 2000 times a second
 * a run with one action takes a quarter of the time.
 */
const dynamicConfig: Readonly<Record<string, string>> = {
  'history.transferProcessorMaxPollRPS': '2000',
  'history.timerProcessorMaxPollRPS': '2000',
  'history.outboundProcessorMaxPollRPS': '2000',
  // How late a timer may fire, for hosts whose clocks differ; the default of a second would delay status as much.
  'history.timerProcessorMaxTimeShift': '"10ms"',
  // It would ask a host on the internet for newer versions.
  'frontend.enableServerVersionCheck': 'false',
};

/** What the Temporal server is laid out from. */
export interface TemporalServerOptions {
  paths: DataPaths;
  ports: Record<PortName, number>;
  program: string;
  /** Keeps everything in memory. */
  ephemeral: boolean;
  namespace: string;
}

/** Says how to start the Temporal development server, on disk unless ephemeral. */
export function temporalSpec(options: TemporalServerOptions): ProcessSpec {
  const { ports, paths } = options;
  const address = `127.0.0.1:${ports.temporal}`;
  return {
    name: 'temporal',
    command: options.program,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(ports.temporal)],
      ...['--ui-port', String(ports.temporalUi), '--http-port', String(ports.temporalHttp)],
      ...['--metrics-port', String(ports.temporalMetrics), '--ui-disable-news-fetch'],
      ...['--namespace', options.namespace, '--log-level', 'warn'],
      ...(options.ephemeral
        ? []
        : [
            ...['--db-filename', paths.temporalDb],
            ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
          ]),
      ...searchAttributes.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
      ...Object.entries(dynamicConfig).flatMap(([k, v]) => ['--dynamic-config-value', `${k}=${v}`]),
    ],
    // A larger heap between collections: about 5 % less CPU per run.
    env: { GOGC: '800' },
    log: join(paths.logs, 'temporal.log'),
    ready: async () => (await checkTemporal(address, options.namespace)) === undefined,
    readyTimeoutMs: 60_000,
  };
}

/**
 * Asks a Temporal server whether it serves a namespace.
 *
 * @returns undefined when it does, else why not.
 */
export async function checkTemporal(address: string, namespace: string): Promise<string | undefined> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: 3000 });
    await connection.withDeadline(Date.now() + 3000, () =>
      connection!.workflowService.describeNamespace({ namespace }),
    );
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await connection?.close();
  }
}

/**
 * Registers the search attributes that are missing and, on the embedded server,
 * lengthens the retention. Doing it again changes nothing.
 *
 * @returns the search attributes that were added.
 * @throws Error when the server refuses.
 */
export async function prepareNamespace(
  address: string,
  namespace: string,
  options: { setRetention: boolean },
): Promise<string[]> {
  const connection = await Connection.connect({ address, connectTimeout: 5000 });
  try {
    return await connection.withDeadline(Date.now() + 20_000, async () => {
      const known = await connection.operatorService.listSearchAttributes({ namespace });
      const missing = searchAttributes.filter((name) => known.customAttributes[name] === undefined);
      if (missing.length > 0) {
        await connection.operatorService.addSearchAttributes({
          namespace,
          searchAttributes: Object.fromEntries(missing.map((name) => [name, keyword])),
        });
      }
      if (options.setRetention) {
        const seconds = retentionDays * 24 * 60 * 60;
        const { config } = await connection.workflowService.describeNamespace({ namespace });
        if (Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) !== seconds) {
          await connection.workflowService.updateNamespace({
            namespace,
            config: { workflowExecutionRetentionTtl: { seconds: seconds as never } },
          });
        }
      }
      return missing;
    });
  } finally {
    await connection.close();
  }
}
