import { isObject } from '../../api/core/json.js';

/** How a label selector answers for one set of labels. */
export type Selection = { ok: true; matches: boolean } | { ok: false; message: string };

/**
 * Evaluates a Kubernetes label selector as the API does: all `matchLabels` and all `matchExpressions` must hold; `{}`
 * matches everything. `NotIn` holds where the label is missing.
 */
export function evaluateSelector(selector: unknown, labels: Record<string, string>): Selection {
  if (!isObject(selector))
    return { ok: false, message: 'it is not a map with matchLabels or matchExpressions' };
  const unknown = Object.keys(selector).find(
    (field) => field !== 'matchLabels' && field !== 'matchExpressions',
  );
  if (unknown !== undefined) {
    return {
      ok: false,
      message: `it has the field "${unknown}"; allowed are matchLabels and matchExpressions`,
    };
  }
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!isObject(matchLabels)) return { ok: false, message: 'matchLabels is not a map of labels' };
  if (!Array.isArray(matchExpressions)) return { ok: false, message: 'matchExpressions is not a list' };

  let matches = true;
  for (const [label, value] of Object.entries(matchLabels)) {
    if (typeof value !== 'string')
      return { ok: false, message: `matchLabels.${label} is not a text; quote it` };
    matches &&= labelOf(labels, label) === value;
  }
  for (const expression of matchExpressions as unknown[]) {
    const result = evaluateExpression(expression, labels);
    if (typeof result === 'string') return { ok: false, message: result };
    matches &&= result;
  }
  return { ok: true, matches };
}

/** Whether the expression holds, or what is wrong with it. */
function evaluateExpression(expression: unknown, labels: Record<string, string>): boolean | string {
  if (!isObject(expression) || typeof expression.key !== 'string' || expression.key === '') {
    return 'an expression has no key';
  }
  const { key, operator } = expression;
  const values = expression.values ?? [];
  if (!Array.isArray(values) || !values.every((value) => typeof value === 'string')) {
    return `values of the expression on "${key}" are not a list of texts`;
  }
  const found = labelOf(labels, key);
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) return `${operator} on "${key}" needs values`;
      return (found !== undefined && values.includes(found)) === (operator === 'In');
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) return `${operator} on "${key}" takes no values`;
      return (found !== undefined) === (operator === 'Exists');
    default:
      return `operator ${JSON.stringify(operator)} on "${key}" is not known; allowed are In, NotIn, Exists and DoesNotExist`;
  }
}

const labelOf = (labels: Record<string, string>, label: string): string | undefined =>
  Object.hasOwn(labels, label) ? labels[label] : undefined;
