/** Checks of what the Clusternet types share. */
import { isObject } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import { renderDocuments } from '../template/render.js';
import { error, show, warning } from '../../core/fields.js';
import { isTemplated, trySample } from './sample.js';

const OVERRIDE_TYPES = ['JSONPatch', 'MergePatch', 'Helm'];
const SELECTOR_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** The flat fields that stand beside a nested `spec`: both at once would leave open which one counts. */
export function checkOneForm(block: object, flat: readonly string[], path: string): Problem[] {
  const fields = block as Record<string, unknown>;
  const used = flat.filter((field) => fields[field] !== undefined);
  if (fields.spec === undefined || used.length === 0) return [];
  const message = `stands beside ${used.join(', ')}; write everything into spec, or leave spec out`;
  return [error(`${path}.spec`, 'AmbiguousBody', message)];
}

/** The body of a Localization or Globalization. */
export function checkOverrideBody(
  body: Record<string, unknown>,
  written: string | undefined,
  path: string,
): Problem[] {
  const operation = written || 'Create';
  const problems: Problem[] = [];
  if (operation === 'Create' && !isObject(body.feed)) {
    const message = `is ${show(body.feed)}; operation Create needs the source that is changed`;
    problems.push(error(`${path}.feed`, 'InvalidField', message));
  }
  if (body.overridePolicy === 'ApplyLater') {
    problems.push(
      warning(
        `${path}.overridePolicy`,
        'ApplyLater',
        'is ApplyLater: what already runs is not changed until its source is deployed again; use ApplyNow for a failover',
      ),
    );
  }
  if (operation === 'Delete') return problems;
  return [...problems, ...checkOverrides(body.overrides, `${path}.overrides`)];
}

function checkOverrides(overrides: unknown, path: string): Problem[] {
  if (overrides === undefined) return [];
  if (!Array.isArray(overrides))
    return [error(path, 'InvalidField', `is ${show(overrides)}; must be a list`)];
  return (overrides as unknown[]).flatMap((override, index) => {
    const where = `${path}[${index}]`;
    if (!isObject(override)) return [error(where, 'InvalidField', `is ${show(override)}; must be an object`)];
    return checkOverride(override, where);
  });
}

function checkOverride(override: Record<string, unknown>, path: string): Problem[] {
  const { type, value } = override;
  const problems: Problem[] = [];
  const isOpen = typeof type === 'string' && isTemplated(type);
  // Later releases of Clusternet have the two field types as well.
  const known = [...OVERRIDE_TYPES, 'FieldJSONPatch', 'FieldMergePatch'];
  if (typeof type !== 'string' || (!isOpen && !known.includes(type))) {
    problems.push(
      error(`${path}.type`, 'InvalidField', `is ${show(type)}; allowed are ${OVERRIDE_TYPES.join(', ')}`),
    );
  }
  if (override.overrideChart !== undefined && type !== 'Helm' && !isOpen) {
    problems.push(warning(`${path}.overrideChart`, 'IgnoredField', 'has an effect on type Helm only'));
  }
  if (typeof value !== 'string') {
    problems.push(error(`${path}.value`, 'InvalidField', `is ${show(value)}; must be text in YAML or JSON`));
    return problems;
  }
  const sample = trySample(`${path}.value`, [value], (scope) => renderDocuments(value, scope));
  if ('problems' in sample) return [...problems, ...sample.problems];
  const [content, ...more] = sample.value;
  const wantsList = type === 'JSONPatch' || type === 'FieldJSONPatch';
  const fits = wantsList ? Array.isArray(content) : isObject(content);
  if (typeof type === 'string' && known.includes(type)) {
    if (!fits || more.length > 0) {
      const wanted = wantsList ? 'a list of operations' : 'a map';
      problems.push(
        error(
          `${path}.value`,
          'InvalidOverride',
          `holds ${show(content)}; ${type} needs ${wanted}, and Clusternet would deploy nothing to the cluster`,
        ),
      );
    }
  }
  return problems;
}

/** A selector of clusters. */
export function checkAffinity(affinity: unknown, path: string): Problem[] {
  if (!isObject(affinity)) {
    return [error(path, 'InvalidField', `is ${show(affinity)}; must be a selector of clusters by labels`)];
  }
  const { matchLabels, matchExpressions } = affinity;
  const isEmpty = (value: unknown): boolean =>
    value === undefined || value === null || Object.keys(value).length === 0;
  if (isEmpty(matchLabels) && isEmpty(matchExpressions)) {
    return [
      warning(path, 'SelectsAllClusters', 'is {}, which selects every cluster; name labels to narrow it'),
    ];
  }
  return checkSelector(matchLabels, matchExpressions, path);
}

function checkSelector(matchLabels: unknown, matchExpressions: unknown, path: string): Problem[] {
  const problems: Problem[] = [];
  if (!isAbsent(matchLabels) && !(isObject(matchLabels) && Object.values(matchLabels).every(isText))) {
    problems.push(
      error(`${path}.matchLabels`, 'InvalidField', `is ${show(matchLabels)}; must be a map of text`),
    );
  }
  if (isAbsent(matchExpressions)) return problems;
  if (!Array.isArray(matchExpressions)) {
    problems.push(
      error(`${path}.matchExpressions`, 'InvalidField', `is ${show(matchExpressions)}; must be a list`),
    );
    return problems;
  }
  for (const [index, expression] of (matchExpressions as unknown[]).entries()) {
    const where = `${path}.matchExpressions[${index}]`;
    const { key, operator, values } = isObject(expression) ? expression : {};
    if (!isText(key))
      problems.push(error(`${where}.key`, 'InvalidField', `is ${show(key)}; must be a label`));
    if (!isText(operator) || !(isTemplated(operator) || SELECTOR_OPERATORS.includes(operator))) {
      const message = `is ${show(operator)}; allowed are ${SELECTOR_OPERATORS.join(', ')}`;
      problems.push(error(`${where}.operator`, 'InvalidField', message));
    }
    if ((operator === 'In' || operator === 'NotIn') && !(Array.isArray(values) && values.length > 0)) {
      problems.push(
        error(`${where}.values`, 'InvalidField', `is ${show(values)}; ${operator} needs at least one value`),
      );
    }
  }
  return problems;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isAbsent = (value: unknown): boolean => value === undefined || value === null;
