import type { DRPlan, DRWorkflow } from '../../../../api/plan/types.js';
import type { FileObject } from './objects.js';
import type { Surroundings } from './surroundings.js';

/** Objects of files by name. Where two have the same name, the first one counts. */
export interface FileSet {
  find: (kind: string, namespace: string, name: string) => FileObject | undefined;
  /** A workflow of the files, else of their surroundings. */
  workflow: (namespace: string, name: string) => DRWorkflow | undefined;
  /** A plan of the files, else of their surroundings. */
  plan: (namespace: string, name: string) => DRPlan | undefined;
}

/** Objects by name, and what is around them. */
export function createFileSet(
  objects: readonly FileObject[],
  around: Pick<Surroundings, 'workflow' | 'plan'>,
): FileSet {
  const byKey = new Map<string, FileObject>();
  const keyOf = (kind: string, namespace: string, name: string): string => `${kind}/${namespace}/${name}`;
  for (const entry of objects) {
    const key = keyOf(entry.kind, entry.namespace, entry.name);
    if (!byKey.has(key)) byKey.set(key, entry);
  }
  const find: FileSet['find'] = (kind, namespace, name) => byKey.get(keyOf(kind, namespace, name));
  return {
    find,
    workflow: (namespace, name) =>
      (find('DRWorkflow', namespace, name)?.object as DRWorkflow | undefined) ??
      around.workflow(namespace, name),
    plan: (namespace, name) =>
      (find('DRPlan', namespace, name)?.object as DRPlan | undefined) ?? around.plan(namespace, name),
  };
}
