/** Whether what actions write has the form that the cluster's definitions say, as far as these are known. */
import { blockOf, rollbackOf } from '../actions/action-defaults.js';
import type { WrittenObject } from '../actions/descriptor.js';
import { findDescriptor } from '../actions/table.js';
import { isObject } from '../../core/json.js';
import { nearNames } from '../../core/near.js';
import type { Problem } from '../../core/problem.js';
import { faultsIn } from '../../core/shape.js';
import type { Definitions, ShapeFault } from '../../core/shape.js';
import type { Action, DRWorkflow } from '../types.js';
import { error, member, show, warning } from '../../core/fields.js';
import { isSample } from './sample.js';
import { NO_TEXT_HINT } from './text-maps.js';

/** The kinds of the objects that a workflow writes into its own cluster. */
export function kindsWritten(workflow: DRWorkflow): { apiVersion: string; kind: string }[] {
  const kinds = new Map(
    objectsOf(workflow).map(({ object: { apiVersion, kind } }) => [
      `${String(apiVersion)} ${String(kind)}`,
      { apiVersion: String(apiVersion), kind: String(kind) },
    ]),
  );
  return [...kinds.values()];
}

/**
 * Fields that a kind does not have, and values of the wrong type: the API server would refuse the object when the action
 * runs. Where the action lets unknown fields be dropped they are warnings. Nothing is said about kinds that are not known,
 * nor about actions on other clusters, nor about kinds that the workflow itself defines: these may change before they are used.
 *
 * @param workflow one that has passed `validateWorkflow`
 */
export function checkDefinitions(workflow: DRWorkflow, definitions: Definitions): Problem[] {
  const written = objectsOf(workflow);
  const defined = new Set(written.map(({ object }) => definedBy(object)));
  return written.flatMap(({ path, which, object, isLenient, isStrategic }) => {
    const { apiVersion, kind } = object;
    const shape = definitions(String(apiVersion), String(kind));
    if (shape === undefined || defined.has(groupKind(String(apiVersion).split('/')[0], kind))) return [];
    return faultsIn(object, shape, { isOpen: isSample, isStrategic }).map((fault) => {
      const message = `${which}${describe(fault, object)}`;
      return fault.kind === 'unknown' && isLenient
        ? warning(path, 'UnknownField', `${message}; the API server drops it`)
        : error(path, fault.kind === 'unknown' ? 'UnknownField' : 'InvalidManifest', message);
    });
  });
}

const groupKind = (group: unknown, kind: unknown): string => `${String(group)} ${String(kind)}`;

/** The kind that an object defines; undefined for what is no definition. */
function definedBy({ kind, spec }: Record<string, unknown>): string | undefined {
  if (kind !== 'CustomResourceDefinition' || !isObject(spec) || !isObject(spec.names)) return undefined;
  return groupKind(spec.group, spec.names.kind);
}

function describe(fault: ShapeFault, { kind, apiVersion }: Record<string, unknown>): string {
  const where = fault.path.reduce<string>(member, '');
  if (fault.kind === 'unknown') {
    const near = nearNames(String(fault.path.at(-1)), fault.known, 1);
    const hint = near[0] === undefined ? '' : `; did you mean ${near[0]}?`;
    return `${where} is no field of ${String(kind)} (${String(apiVersion)})${hint}`;
  }
  const found = kind === 'Secret' ? 'something else' : show(fault.value);
  const hint = fault.wanted === 'string' ? `: ${NO_TEXT_HINT}` : '';
  return `${where} is ${found}; must be ${WORDS[fault.wanted]}${hint}`;
}

const WORDS = {
  map: 'a map',
  list: 'a list',
  string: 'text',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
} as const;

function objectsOf({ spec }: DRWorkflow): WrittenObject[] {
  return spec.actions.flatMap((action, index) => {
    const path = `spec.actions[${index}]`;
    const rollback = rollbackOf(action);
    return [
      ...writtenBy(action, path),
      ...(rollback === undefined ? [] : writtenBy(rollback, `${path}.rollback`)),
    ];
  });
}

function writtenBy(action: Action, path: string): WrittenObject[] {
  const descriptor = findDescriptor(action.type);
  const block = blockOf(action);
  // Another cluster has other definitions.
  if (action.target !== undefined || descriptor === undefined || block === undefined) return [];
  return descriptor.objects?.(block, `${path}.${descriptor.field}`) ?? [];
}
