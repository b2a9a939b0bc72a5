import { parseDuration } from '../../core/duration.js';
import { readJsonPath } from '../../core/json-path.js';
import { checkObjectCondition } from '../../core/object-condition.js';
import { findPlaceholders } from '../template/placeholders.js';
import type { Problem } from '../../core/problem.js';
import type { Action, WaitAction } from '../types.js';
import { error, show, warning } from './fields.js';
import { checkName } from './names.js';
import { isTemplated } from './sample.js';

/** Longest wait: 30 days, as for a timeout. */
const MAX_WAIT_MS = 30 * 24 * 3_600_000;

/** Checks a Wait: exactly one thing to wait for, and a condition that can be evaluated. */
export function checkWait(wait: WaitAction, action: Action, path: string): Problem[] {
  if ((wait.duration === undefined) === (wait.for === undefined)) {
    const found = wait.duration === undefined ? 'neither' : 'both';
    return [error(path, 'InvalidField', `has ${found} of duration and for; write one of them`)];
  }
  return wait.duration !== undefined ? checkTimer(wait, action, path) : checkObject(wait, path);
}

function checkTimer(wait: WaitAction, action: Action, path: string): Problem[] {
  const { duration = '' } = wait;
  const problems: Problem[] = [];
  const ms = parseDuration(duration);
  if (isTemplated(duration)) {
    if (findPlaceholders(duration).placeholders.some(({ reference }) => reference.kind === 'builtIn')) {
      problems.push(
        error(
          `${path}.duration`,
          'InvalidField',
          `is ${show(duration)}; only a parameter or an output can give a duration`,
        ),
      );
    }
  } else if (ms === undefined || ms <= 0 || ms > MAX_WAIT_MS) {
    const message = `is ${show(duration)}; must be a duration above 0 and at most 720h, such as 30s, 5m or 1h30m`;
    problems.push(error(`${path}.duration`, 'InvalidField', message));
  }
  for (const field of ['condition', 'jsonPath', 'value', 'failWhen'] as const) {
    if (wait[field] === undefined) continue;
    problems.push(
      error(
        `${path}.${field}`,
        'InvalidField',
        'belongs to a wait for an object; remove it, or write for instead of duration',
      ),
    );
  }
  const step = path.replace(/\.wait$/, '');
  if (action.target !== undefined) {
    problems.push(
      error(
        `${step}.target`,
        'UnsupportedField',
        'is set, but a wait for a time needs no cluster; remove it',
      ),
    );
  }
  for (const field of ['timeout', 'totalTimeout', 'retryPolicy'] as const) {
    if (action[field] === undefined) continue;
    problems.push(warning(`${step}.${field}`, 'IgnoredField', 'has no effect on a wait for a time'));
  }
  return problems;
}

function checkObject(wait: WaitAction, path: string): Problem[] {
  const { condition, jsonPath, value } = wait;
  const problems = [
    ...checkName(wait.for?.name, `${path}.for.name`, 'subdomain'),
    ...checkName(wait.for?.namespace, `${path}.for.namespace`, 'label'),
  ];
  if ((condition === undefined) === (jsonPath === undefined)) {
    const found = condition === undefined ? 'neither' : 'both';
    problems.push(error(path, 'InvalidField', `has ${found} of condition and jsonPath; write one of them`));
  }
  for (const field of ['condition', 'failWhen'] as const) {
    const written = wait[field];
    if (written === undefined) continue;
    const fault = isTemplated(written)
      ? 'holds a placeholder; a condition is over object only: compare with jsonPath and value instead'
      : checkObjectCondition(written);
    if (fault !== undefined) problems.push(error(`${path}.${field}`, 'InvalidCondition', fault));
  }
  if (jsonPath !== undefined) {
    const read = readJsonPath(jsonPath);
    if (!read.ok)
      problems.push(error(`${path}.jsonPath`, 'InvalidField', `is ${show(jsonPath)}; it ${read.problem}`));
  } else if (value !== undefined) {
    problems.push(
      error(
        `${path}.value`,
        'InvalidField',
        'belongs to jsonPath; add jsonPath, or write the value into the condition',
      ),
    );
  }
  return problems;
}
