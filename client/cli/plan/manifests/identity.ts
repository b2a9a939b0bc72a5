import { isObject } from '../../../../api/core/json.js';
import type { Problem } from '../../../../api/core/problem.js';
import { checkName } from '../../../../api/plan/validate/names.js';
import type { FileObject } from './objects.js';

/**
 * Checks what every object says of itself: its version, name and namespace.
 *
 * @param first the object that stands first under its kind and name
 */
export function checkIdentity(entry: FileObject, first: FileObject | undefined): Problem[] {
  const { source, kind, descriptor } = entry;
  const { apiVersion } = source.value;
  const wanted = `${descriptor.group}/${descriptor.version}`;
  const metadata = isObject(source.value.metadata) ? source.value.metadata : {};
  const problems: Problem[] = [];
  const fail = (path: string, reason: string, message: string): void =>
    void problems.push({ severity: 'error', path, reason, message });
  if (apiVersion !== wanted) {
    const found = typeof apiVersion === 'string' ? JSON.stringify(apiVersion.slice(0, 100)) : 'no text';
    fail('apiVersion', 'InvalidField', `is ${found}; a ${kind} has ${wanted}`);
  }
  const { name, generateName, namespace } = metadata;
  if (typeof name === 'string' && name !== '')
    problems.push(...checkName(name, 'metadata.name', 'subdomain'));
  else if (typeof generateName !== 'string' || generateName === '') {
    fail('metadata.name', 'InvalidField', 'is missing; must be text');
  }
  if (typeof namespace === 'string') problems.push(...checkName(namespace, 'metadata.namespace', 'label'));
  else if (namespace !== undefined && namespace !== null) {
    fail('metadata.namespace', 'InvalidField', 'must be text');
  }
  if (first !== undefined && first !== entry && entry.name !== '') {
    const at = `${first.source.file}:${first.source.locate('').line}`;
    fail('metadata.name', 'DuplicateObject', `${kind} "${entry.name}" is written at ${at} already; keep one`);
  }
  return problems;
}
