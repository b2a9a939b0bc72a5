import { isObject } from '../../../../api/core/json.js';
import { errorsOf } from '../../../../api/core/problem.js';
import type { Problem } from '../../../../api/core/problem.js';
import { shapesIn } from '../../../../api/core/shape.js';
import { isAccountName } from '../../../../api/plan/authority.js';
import type { DRWorkflow } from '../../../../api/plan/types.js';
import { validateWorkflow } from '../../../../api/plan/validate/index.js';
import type { KubeClient } from '../../../../kube/client.js';
import { createOpenApi } from '../../../../kube/openapi.js';
import { problemsByDefinitions } from '../../../runs/known-definitions.js';
import { missingAccount } from '../missing-account.js';
import type { FileObject } from './objects.js';

/** Definitions that take longer to read count as unknown. */
const DEFINITIONS_TIMEOUT_MS = 10_000;

/**
 * What a cluster says against workflows, by its definitions of the kinds that they write, and against plans, by the
 * accounts that it has. By object.
 *
 * @param accounts service accounts in the files, as `namespace/name`
 */
export async function findFieldProblems(
  kube: KubeClient,
  objects: readonly FileObject[],
  accounts: ReadonlySet<string>,
): Promise<ReadonlyMap<unknown, Problem[]>> {
  const openApi = createOpenApi(kube, shapesIn);
  const found = new Map<unknown, Problem[]>();
  for (const { kind, object, namespace } of objects) {
    if (kind === 'DRPlan')
      found.set(object, await findAccountProblems(kube, { object, namespace, accounts }));
    if (kind !== 'DRWorkflow' || errorsOf(validateWorkflow(object)).length > 0) continue;
    const workflow = object as unknown as DRWorkflow;
    found.set(object, await problemsByDefinitions(workflow, openApi, DEFINITIONS_TIMEOUT_MS));
  }
  return found;
}

async function findAccountProblems(
  kube: KubeClient,
  plan: Pick<FileObject, 'object' | 'namespace'> & { accounts: ReadonlySet<string> },
): Promise<Problem[]> {
  const { object, namespace, accounts } = plan;
  const name = isObject(object.spec) ? object.spec.serviceAccountName : undefined;
  if (typeof name !== 'string' || !isAccountName(name) || accounts.has(`${namespace}/${name}`)) return [];
  const message = await missingAccount(kube, { namespace, name });
  if (message === undefined) return [];
  return [{ severity: 'warning', path: 'spec.serviceAccountName', reason: 'AccountNotFound', message }];
}
