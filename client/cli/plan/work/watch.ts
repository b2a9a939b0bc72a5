import type { CommandContext } from '../../core/context.js';
import type { OutputFormat } from '../../core/output-format.js';
import { getObject } from '../../core/resources.js';
import { watchExecution } from '../watch-execution.js';
import { executionArgument } from '../../core/name-argument.js';

/** Watches a run until it ends; gives the exit code of its end. */
export async function watch(
  context: CommandContext,
  text: string,
  format: OutputFormat | undefined,
): Promise<number> {
  const name = executionArgument(text);
  const { kube, namespace } = await context.openCluster();
  const { metadata } = await getObject(kube, 'DRPlanExecution', namespace, name, context.say);
  return watchExecution(
    context,
    kube,
    { namespace, name, ...(metadata.uid !== undefined && { uid: metadata.uid }) },
    format,
  );
}
