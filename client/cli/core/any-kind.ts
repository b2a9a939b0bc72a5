/** What the command line shows of kinds for which it has no words of its own: their printer columns, and their fields. */
import { isObject } from '../../../api/core/json.js';
import { findByPath, readJsonPath } from '../../../api/core/json-path.js';
import { isCalled } from '../../../api/core/kind-descriptor.js';
import type { KindDescriptor, PrinterColumn } from '../../../api/core/kind-descriptor.js';
import type { KubeClient } from '../../../kube/client.js';
import type { KubeObject } from '../../../kube/object.js';
import { CliError } from './cli-error.js';
import { listAll } from './list-all.js';
import { fieldLines, timeWithAge } from './render/fields.js';
import type { Style } from './render/style.js';
import { oneLine } from './render/text.js';
import { age } from './render/time.js';
import { isOwnKind, kindOf } from './resources.js';

/** The kind that a word means, among those that have no commands of their own. */
export async function anyKindOf(word: string): Promise<KindDescriptor | undefined> {
  if (kindOf(word) !== undefined) return undefined;
  return (await anyKinds()).find((kind) => isCalled(kind, word));
}

/** All of these kinds. Loaded on demand: their schemas take as long as all the rest of a short command. */
export async function anyKinds(): Promise<readonly KindDescriptor[]> {
  const { KINDS } = await import('../../../api/kinds.js');
  return KINDS.filter(({ kind }) => !isOwnKind(kind));
}

/** All objects of a kind, in a namespace or (undefined) in all, in the order of their names. */
export async function listAny(
  kube: KubeClient,
  { group, version, kind, scope }: KindDescriptor,
  namespace: string | undefined,
): Promise<KubeObject[]> {
  const items = await listAll<KubeObject>(
    kube,
    { apiVersion: `${group}/${version}`, kind },
    scope === 'Namespaced' ? namespace : undefined,
  );
  const placeOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`;
  return items.sort((a, b) => placeOf(a).localeCompare(placeOf(b)));
}

/**
 * An object by name.
 *
 * @throws CliError when it is not there
 */
export async function getAny(
  kube: KubeClient,
  { group, version, kind, scope, word, words }: KindDescriptor,
  at: { namespace: string; name: string; say: (command: string) => string },
): Promise<KubeObject> {
  const within = scope === 'Namespaced' ? { namespace: at.namespace } : {};
  const found = await kube.get<KubeObject>({
    apiVersion: `${group}/${version}`,
    kind,
    name: at.name,
    ...within,
  });
  if (found !== undefined) return found;
  const where = scope === 'Namespaced' ? ` in namespace ${at.namespace}` : '';
  throw new CliError(`there is no ${word} "${at.name}"${where}`, {
    hints: [`see what is there: ${at.say(`get ${words}`)}`],
  });
}

/** Header and rows of objects, as `kubectl get` would show them. */
export function rowsOfAny(
  { columns }: KindDescriptor,
  objects: readonly KubeObject[],
  { now, withNamespace }: { now: number; withNamespace: boolean },
): { header: string[]; rows: string[][] } {
  const shown = columns.filter(({ priority }) => priority === undefined);
  return {
    header: [...(withNamespace ? ['NAMESPACE'] : []), 'NAME', ...shown.map(({ name }) => name.toUpperCase())],
    rows: objects.map((object) => [
      ...(withNamespace ? [oneLine(object.metadata.namespace ?? '')] : []),
      oneLine(object.metadata.name),
      ...shown.map((column) => cellOf(column, object, now)),
    ]),
  };
}

/** An object: what it is, all its columns, and its conditions. */
export function describeAny(
  { word, columns }: KindDescriptor,
  object: KubeObject,
  { style, now }: { style: Style; now: number },
): string[] {
  const { metadata } = object;
  const title = `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
  const lines = fieldLines(
    [
      [title, style.bold(oneLine(metadata.name))],
      ['Namespace', metadata.namespace === undefined ? undefined : oneLine(metadata.namespace)],
      ...columns
        .filter(({ jsonPath }) => jsonPath !== '.metadata.creationTimestamp')
        .map((column) => [column.name, cellOf(column, object, now)] as const),
      ['Created', timeWithAge(metadata.creationTimestamp, age(metadata.creationTimestamp, now))],
    ],
    style,
  );
  const conditions = conditionsOf(object);
  return conditions.length === 0
    ? lines
    : [
        ...lines,
        '',
        style.dim('Conditions:'),
        ...conditions.map(
          ({ type, status, reason, message }) => `  ${oneLine(`${type} ${status} ${reason}: ${message}`)}`,
        ),
      ];
}

function conditionsOf({ status }: KubeObject & { status?: unknown }): Record<string, string>[] {
  const list = isObject(status) && Array.isArray(status.conditions) ? (status.conditions as unknown[]) : [];
  return list.filter(isObject).map(({ type, status: is, reason, message }) => ({
    type: textOf(type),
    status: textOf(is),
    reason: textOf(reason),
    message: textOf(message),
  }));
}

function cellOf({ type, jsonPath }: PrinterColumn, object: KubeObject, now: number): string {
  const path = readJsonPath(jsonPath);
  const [value] = path.ok ? findByPath(path.steps, object) : [];
  return type === 'date' ? age(textOf(value) || undefined, now) : oneLine(textOf(value));
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
