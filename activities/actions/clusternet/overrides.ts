import { isObject } from '../../../api/core/json.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { readYaml } from '../../../api/core/yaml.js';

/** What the value of each type of override must be. Field… exist in newer versions of Clusternet only. */
const SHAPES: Record<string, 'operations' | 'map'> = {
  JSONPatch: 'operations',
  FieldJSONPatch: 'operations',
  MergePatch: 'map',
  FieldMergePatch: 'map',
  Helm: 'map',
};
const PATCH_OPERATIONS = ['add', 'remove', 'replace', 'move', 'copy', 'test'];

/**
 * Checks rendered overrides of a Localization: one that cannot be read fails the whole deployment to its cluster, and
 * only an Event says so (therefore it is refused before it is sent).
 *
 * @param feedKind kind of the source that is changed, where it is known
 */
export function checkOverrides(overrides: unknown, feedKind: string | undefined): Refusal | undefined {
  if (overrides === undefined || overrides === null) return undefined;
  if (!Array.isArray(overrides)) return invalid('overrides is not a list');
  for (const [index, override] of (overrides as unknown[]).entries()) {
    const problem = problemOf(override, feedKind);
    if (problem === undefined) continue;
    const name = isObject(override) && typeof override.name === 'string' ? ` "${override.name}"` : '';
    return invalid(`overrides[${index}]${name}: ${problem}`);
  }
  return undefined;
}

function problemOf(override: unknown, feedKind: string | undefined): string | undefined {
  if (!isObject(override)) return 'it is not a map with name, type and value';
  const { type, value } = override;
  const shape = typeof type === 'string' && Object.hasOwn(SHAPES, type) ? SHAPES[type] : undefined;
  if (shape === undefined) {
    return `type ${JSON.stringify(type)} is not known; allowed are ${Object.keys(SHAPES).join(', ')}`;
  }
  // The reverse is accepted: Clusternet merges the map of a Helm override into any object.
  if (feedKind === 'HelmChart' && type !== 'Helm') {
    return `type ${String(type)} has no effect on a HelmChart; use Helm`;
  }
  if (typeof value !== 'string') return 'value is not a text; write YAML or JSON as a text';
  const read = readYaml(value);
  if (!read.ok) return `value is neither YAML nor JSON: ${read.problem}`;
  const content = read.value;
  if (shape === 'map') return isObject(content) ? undefined : `value of type ${String(type)} must be a map`;
  if (!Array.isArray(content)) return `value of type ${String(type)} must be a list of operations`;
  for (const [index, operation] of (content as unknown[]).entries()) {
    if (!isObject(operation) || !PATCH_OPERATIONS.includes(String(operation.op))) {
      return `operation ${index + 1} has no valid op; allowed are ${PATCH_OPERATIONS.join(', ')}`;
    }
    if (typeof operation.path !== 'string' || (operation.path !== '' && !operation.path.startsWith('/'))) {
      return `operation ${index + 1} has no valid path; it begins with "/"`;
    }
  }
  return undefined;
}

const invalid = (message: string): Refusal => ({ reason: 'InvalidOverride', message });
