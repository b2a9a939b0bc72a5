/** Somebody who reaches only Temporal: reads what is there, starts workflows, and runs a worker of his own. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { Client } from '@temporalio/client';
import { compressingConverter } from '../../runtime/compression.js';
import type { Forged, Forgery, forge, say } from './forger.js';
import { servers } from './servers.js';

export interface Attacker {
  /** Asks for things from a workflow of his own under this id. */
  forgeFrom(workflowId: string, ...forgeries: Forgery[]): Promise<Forged[]>;
  /** Takes a workflow id and ends at once with a result of his choice. */
  sayFrom(workflowId: string, result: unknown): Promise<void>;
  /** Takes a workflow id for as long as it is wanted: nobody carries the workflow out. */
  take(workflowId: string): Promise<void>;
  /** Starts a workflow of somebody else's code; how it ended. */
  start(type: string, at: { taskQueue: string; workflowId: string }, argument: unknown): Promise<Forged>;
  /** The input of a workflow, as everybody may read it in Temporal. */
  inputOf<T>(workflowId: string): Promise<T>;
  close(): Promise<void>;
}

/** @param options.installs false: the SDK's runtime is there already, as where a replica runs in this process */
export async function openAttacker(
  temporal: Client,
  { installs = true }: { installs?: boolean } = {},
): Promise<Attacker> {
  const logger = new DefaultLogger('ERROR');
  if (installs) Runtime.install({ logger });
  const taskQueue = `attacker-${randomUUID()}`;
  const connection = await NativeConnection.connect({ address: servers.temporal });
  const worker = await Worker.create({
    connection,
    namespace: servers.temporalNamespace,
    taskQueue,
    // What is asked for at once may be large, and the client of the tests compresses that.
    dataConverter: compressingConverter(),
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('./forger.ts', import.meta.url)),
      logger,
    }),
  });
  const running = worker.run();
  return {
    forgeFrom: (workflowId, ...forgeries) =>
      temporal.workflow.execute<typeof forge>('forge', { taskQueue, workflowId, args: [forgeries] }),
    async sayFrom(workflowId, result) {
      await temporal.workflow.execute<typeof say>('say', { taskQueue, workflowId, args: [result] });
    },
    async take(workflowId) {
      await temporal.workflow.start('say', { taskQueue: `${taskQueue}-nobody`, workflowId });
    },
    async start(type, at, argument) {
      const handle = await temporal.workflow.start(type, { ...at, args: [argument] });
      return handle.result().then(
        (result: unknown) => ({ result }),
        (error: Error) => {
          // The failure of a workflow holds that of its activity.
          let cause = error as Error & { type?: string };
          while (cause.cause instanceof Error) cause = cause.cause;
          return { failure: cause.type ?? '', message: cause.message };
        },
      );
    },
    async inputOf<T>(workflowId: string) {
      const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
      const payload = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
      return JSON.parse(Buffer.from(payload ?? []).toString('utf8')) as T;
    },
    async close() {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}
