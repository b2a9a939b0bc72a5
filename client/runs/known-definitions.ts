import type { Definitions, Shape } from '../../api/core/shape.js';
import { checkDefinitions, kindsWritten } from '../../api/plan/validate/index.js';
import type { Problem } from '../../api/core/problem.js';
import type { DRWorkflow } from '../../api/plan/types.js';
import { KubeError } from '../../kube/error.js';
import type { OpenApi } from '../../kube/openapi.js';

/** Group versions that are read for one workflow. */
const MAX_GROUP_VERSIONS = 20;

/**
 * What the definitions of a cluster say against what a workflow writes. A definition that cannot be read says nothing: the
 * API server has the last word when the action runs.
 *
 * @param workflow one that has passed `validateWorkflow`
 * @param budgetMs definitions that take longer count as unknown
 */
export async function problemsByDefinitions(
  workflow: DRWorkflow,
  openApi: OpenApi<Map<string, Shape>>,
  budgetMs: number,
): Promise<Problem[]> {
  const versions = [...new Set(kindsWritten(workflow).map(({ apiVersion }) => apiVersion))].slice(
    0,
    MAX_GROUP_VERSIONS,
  );
  const known = new Map<string, Map<string, Shape> | undefined>();
  const read = versions.map(async (apiVersion) => {
    try {
      known.set(apiVersion, await openApi.of(apiVersion));
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
    }
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, budgetMs);
  });
  await Promise.race([Promise.all(read), late]).finally(() => {
    clearTimeout(timer);
  });
  const definitions: Definitions = (apiVersion, kind) => known.get(apiVersion)?.get(kind);
  return checkDefinitions(workflow, definitions);
}
