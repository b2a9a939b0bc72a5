import type { Problem } from '../../core/problem.js';
import { renderString } from '../template/render.js';
import type { Action, PlanAction } from '../types.js';
import { warning } from './fields.js';
import { checkName, checkUnique } from './names.js';
import { textsOf, trySample } from './sample.js';

/** Checks a Plan by itself; whether there is such a plan, and no cycle, is the check of the plan that uses it. */
export function checkNestedPlan(plan: PlanAction, action: Action, path: string): Problem[] {
  const { name, params = [] } = plan;
  const problems = [
    ...checkName(name, `${path}.name`, 'subdomain'),
    ...checkUnique(params, `${path}.params`, 'parameter'),
  ];
  for (const [index, { value }] of params.entries()) {
    if (typeof value !== 'string') continue;
    const where = `${path}.params[${index}].value`;
    const sample = trySample(where, textsOf(value), (scope) => renderString(value, scope));
    if ('problems' in sample) problems.push(...sample.problems);
  }
  const step = path.replace(/\.plan$/, '');
  for (const field of ['totalTimeout', 'retryPolicy'] as const) {
    if (action[field] === undefined) continue;
    const text =
      field === 'retryPolicy'
        ? 'has no effect on a Plan: a plan that has failed is never run again by itself; its own actions are retried'
        : 'has no effect on a Plan; write timeout';
    problems.push(warning(`${step}.${field}`, 'IgnoredField', text));
  }
  return problems;
}
