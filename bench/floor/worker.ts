/**
 * A worker of the empty run, as a process of its own: `work` stands for the worker, `status` for the bridge. Tells its
 * parent when it is ready, and ends when it is told to or its parent is gone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { FLOOR } from './contract.js';
import type { StatusActivities, WorkActivities } from './contract.js';

const [role, address = '', namespace = '', bundle = ''] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
const connection = await NativeConnection.connect({ address });
const common = { connection, namespace, shutdownGraceTime: 0 };
const work: WorkActivities = { act: (waitMs) => (waitMs > 0 ? sleep(waitMs) : Promise.resolve()) };
const status: StatusActivities = { finish: () => Promise.resolve() };
// The same sizes as those of the worker and the bridge.
const worker =
  role === 'work'
    ? await Worker.create({
        ...common,
        taskQueue: FLOOR.workQueue,
        workflowBundle: { codePath: bundle },
        activities: { ...work },
        maxCachedWorkflows: 500,
        maxConcurrentWorkflowTaskExecutions: 40,
        maxConcurrentActivityTaskExecutions: 200,
      })
    : await Worker.create({
        ...common,
        taskQueue: FLOOR.statusQueue,
        activities: { ...status },
        maxConcurrentActivityTaskExecutions: 50,
      });
const stop = (): void => {
  if (worker.getState() === 'RUNNING') worker.shutdown();
};
process.once('SIGTERM', stop);
process.once('disconnect', stop);
process.send?.('ready');
await worker.run();
await connection.close();
process.exit(0);
