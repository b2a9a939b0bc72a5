import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION, FIELD_MANAGER } from '../../../api/core/group.js';
import type { DRPlanExecution, DRPlanExecutionSpec } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import { isAlreadyExists, KubeError } from '../../../kube/error.js';
import { CliError } from '../core/cli-error.js';
import type { Cluster } from '../core/cluster.js';
import type { CommandContext } from '../core/context.js';
import { EXIT } from '../core/exit-codes.js';
import { printValue, withoutManagedFields } from '../core/output.js';
import type { OutputFormat } from '../core/output-format.js';
import { keyFor } from '../core/resources.js';
import { watchExecution } from './watch-execution.js';

const ATTEMPTS = 3;
const PAUSE_MS = 500;

/**
 * Creates an execution. When the answer is lost it is sent again under the same name, so that there is never a second
 * run.
 *
 * @throws CliError when the name is taken by another execution.
 */
export async function createExecution(
  kube: KubeClient,
  wanted: { namespace: string; name: string; spec: DRPlanExecutionSpec },
): Promise<DRPlanExecution> {
  const { namespace, name, spec } = wanted;
  const object = { apiVersion: API_VERSION, kind: 'DRPlanExecution', metadata: { name, namespace }, spec };
  for (let attempt = 1; ; attempt++) {
    try {
      return await kube.create<DRPlanExecution>(object, { fieldManager: FIELD_MANAGER });
    } catch (error) {
      if (isAlreadyExists(error)) {
        const present = await kube.get<DRPlanExecution>(keyFor('DRPlanExecution', namespace, name));
        // After a lost answer the one that is there is ours.
        if (attempt > 1 && present !== undefined) return present;
        throw new CliError(`execution "${name}" already exists in namespace ${namespace}`, {
          hints: ['give another --name, or leave it out to get a new one'],
        });
      }
      const isLost = error instanceof KubeError && error.code === 0;
      if (!isLost || attempt === ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Says that an execution was created, and watches it when asked to. */
export async function afterCreate(
  context: CommandContext,
  cluster: Cluster,
  execution: DRPlanExecution,
  options: { watch?: boolean; output?: OutputFormat },
): Promise<number> {
  const { metadata } = execution;
  context.terminal.note(`created execution ${metadata.namespace}/${metadata.name}`);
  if (options.watch === true) {
    return watchExecution(
      context,
      cluster.kube,
      {
        namespace: cluster.namespace,
        name: metadata.name,
        ...(metadata.uid !== undefined && { uid: metadata.uid }),
      },
      options.output,
    );
  }
  context.terminal.note(`next: ${context.say(`watch ${metadata.name}`)}`);
  if (options.output !== undefined)
    await printValue(context.terminal, withoutManagedFields(execution), options.output);
  return EXIT.ok;
}
