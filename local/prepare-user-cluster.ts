import { KubeError } from '../kube/error.js';
import type { TypedObject } from '../kube/object.js';
import { applyDefinitions, readObjects, wouldChange } from './apply.js';
import type { UpOptions } from './options.js';
import type { DataPaths } from './paths.js';
import { writeWhole } from './state.js';
import type { UserCluster } from './user-cluster.js';

/**
 * Puts the definitions into the user's own cluster, where they are not there as they are to be, and the kubeconfig where
 * bridge and worker find it.
 *
 * @throws Error when the cluster does not let us in, or the user does not confirm the change.
 */
export async function prepareUserCluster(
  options: UpOptions,
  cluster: UserCluster,
  paths: DataPaths,
): Promise<void> {
  await letIn(cluster);
  const definitions = await changedDefinitions(options, cluster);
  if (definitions.length > 0) {
    const names = definitions.map(({ metadata }) => metadata.name).join(', ');
    const what = `applying the definitions ${names} to context ${cluster.context} (${cluster.server})`;
    if (options.confirm !== undefined && !(await options.confirm(what))) {
      throw new Error(`not confirmed: ${what}; nothing was changed`);
    }
    options.progress({ kind: 'notice', subject: 'cluster', message: what });
    await applyDefinitions(cluster.kube, definitions);
  }
  await writeWhole(paths.kubeconfig, cluster.kubeconfig);
}

async function letIn({ kube, context, server }: UserCluster): Promise<void> {
  try {
    await kube.raw({ method: 'GET', path: '/version' });
  } catch (error) {
    if (!(error instanceof KubeError) || error.code === 0) throw error;
    throw new Error(
      `the cluster of context ${context} (${server}) answered ${error.code}: ${error.message}; ` +
        `check the kubeconfig's credentials`,
      { cause: error },
    );
  }
}

/** Definitions that applying them would change. */
async function changedDefinitions(
  { crdDir, progress }: UpOptions,
  { kube }: UserCluster,
): Promise<TypedObject[]> {
  const changed: TypedObject[] = [];
  for (const definition of crdDir === undefined ? [] : await readObjects(crdDir)) {
    const change = await wouldChange(kube, definition);
    if (change === 'yes') changed.push(definition);
    if (change === 'forbidden') {
      progress({
        kind: 'notice',
        subject: 'cluster',
        message: `${definition.metadata.name} is installed and may not be changed with these credentials; it is used as it is`,
      });
    }
  }
  return changed;
}
