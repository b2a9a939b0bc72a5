import { isObject } from '../../core/json.js';
import { renderDocuments } from '../template/render.js';
import type { Problem } from '../../core/problem.js';
import type {
  GlobalizationAction,
  HelmChartAction,
  LocalizationAction,
  SubscriptionAction,
} from '../types.js';
import { error, show, warning } from './fields.js';
import { checkName } from './names.js';
import { isTemplated, trySample } from './sample.js';

const OVERRIDE_TYPES = ['JSONPatch', 'MergePatch', 'Helm'];
const STRATEGIES = ['Replication', 'Dividing'];
const SELECTOR_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** The flat fields that stand beside a nested `spec`: both at once would leave open which one counts. */
function checkOneForm(block: object, flat: readonly string[], path: string): Problem[] {
  const fields = block as Record<string, unknown>;
  const used = flat.filter((field) => fields[field] !== undefined);
  if (fields.spec === undefined || used.length === 0) return [];
  const message = `stands beside ${used.join(', ')}; write everything into spec, or leave spec out`;
  return [error(`${path}.spec`, 'AmbiguousBody', message)];
}

/** Checks a Localization action. */
export function checkLocalization(localization: LocalizationAction, path: string): Problem[] {
  const spec = localization.spec;
  return [
    ...checkOneForm(localization, ['priority', 'overridePolicy', 'feed', 'overrides'], path),
    ...checkName(localization.name, `${path}.name`, 'subdomain'),
    ...checkName(localization.namespace, `${path}.namespace`, 'label'),
    ...checkOverrideBody(
      spec ?? localization,
      localization.operation,
      spec === undefined ? path : `${path}.spec`,
    ),
  ];
}

/** Checks a Globalization action. */
export function checkGlobalization(globalization: GlobalizationAction, path: string): Problem[] {
  const { operation, spec = {} } = globalization;
  const affinity = spec.clusterAffinity;
  return [
    ...checkName(globalization.name, `${path}.name`, 'subdomain'),
    ...checkOverrideBody(spec, operation, `${path}.spec`),
    ...(operation === 'Delete' || isAbsent(affinity)
      ? []
      : checkAffinity(affinity, `${path}.spec.clusterAffinity`)),
  ];
}

/** Checks a HelmChart action. */
export function checkHelmChart(chart: HelmChartAction, path: string): Problem[] {
  const { operation = 'Create', spec = {} } = chart;
  const problems = [
    ...checkName(chart.name, `${path}.name`, 'subdomain'),
    ...checkName(chart.namespace, `${path}.namespace`, 'label'),
  ];
  if (operation === 'Delete') return problems;
  if (operation === 'Patch' || isTemplated(operation)) return problems;
  for (const field of ['repo', 'chart', 'targetNamespace']) {
    const value = spec[field];
    if (isText(value) && value !== '') continue;
    const message = `is ${show(value)}; operation ${operation || 'Create'} needs repo, chart and targetNamespace`;
    problems.push(error(`${path}.spec.${field}`, 'InvalidField', message));
  }
  const { repo } = spec;
  if (isText(repo) && repo !== '' && !isTemplated(repo) && !/^(https?|oci):\/\//.test(repo)) {
    const message = `is ${show(repo)}; must begin with http://, https:// or oci://`;
    problems.push(error(`${path}.spec.repo`, 'InvalidField', message));
  }
  return problems;
}

function checkOverrideBody(
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

/** Checks a Subscription action. */
export function checkSubscription(subscription: SubscriptionAction, path: string): Problem[] {
  const operation = subscription.operation || 'Create';
  const spec = subscription.spec;
  const body = spec ?? subscription;
  const where = spec === undefined ? path : `${path}.spec`;
  const problems = [
    ...checkOneForm(subscription, ['feeds', 'subscribers', 'schedulingStrategy'], path),
    ...checkName(subscription.name, `${path}.name`, 'subdomain'),
    ...checkName(subscription.namespace, `${path}.namespace`, 'label'),
  ];
  if (operation === 'Delete') return problems;
  const strategy = body.schedulingStrategy;
  if (typeof strategy === 'string' && !isTemplated(strategy) && !STRATEGIES.includes(strategy)) {
    const message = `is ${show(strategy)}; allowed are ${STRATEGIES.join(', ')}`;
    problems.push(error(`${where}.schedulingStrategy`, 'InvalidField', message));
  }
  if (operation === 'Create' || operation === 'Replace') {
    for (const field of ['feeds', 'subscribers'] as const) {
      const list = body[field];
      if (Array.isArray(list) && list.length > 0) continue;
      problems.push(
        error(
          `${where}.${field}`,
          'InvalidField',
          `is ${show(list)}; operation ${operation} needs at least one`,
        ),
      );
    }
  }
  return [...problems, ...checkSubscribers(body.subscribers, `${where}.subscribers`)];
}

function checkSubscribers(subscribers: unknown, path: string): Problem[] {
  if (!Array.isArray(subscribers)) return [];
  return (subscribers as unknown[]).flatMap((subscriber, index): Problem[] => {
    const affinity = isObject(subscriber) ? subscriber.clusterAffinity : undefined;
    const where = `${path}[${index}].clusterAffinity`;
    if (!isObject(affinity)) {
      return [
        error(
          where,
          'NoClusterAffinity',
          `is ${show(affinity)}; without it no cluster matches, which removes the feeds from every cluster: select clusters, or write {} for all`,
        ),
      ];
    }
    return checkAffinity(affinity, where);
  });
}

function checkAffinity(affinity: unknown, path: string): Problem[] {
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
