import {
  blockOf,
  CLUSTER_EXECUTION_MODES,
  MAX_RETRY_INTERVAL_MS,
  MAX_TIMEOUT_MS,
  operationOf,
  perClusterOf,
  rollbackOf,
  timeoutOf,
} from '../actions/action-defaults.js';
import type { ActionDescriptor } from '../actions/descriptor.js';
import {
  ACTION_TYPES,
  ACTIONS,
  descriptorOf,
  findDescriptor,
  isActionType,
  typesWhere,
} from '../actions/table.js';
import { traitsOf } from '../actions/traits.js';
import { formatDuration, parseDuration } from '../../core/duration.js';
import { HOOK_TYPES, hookOf } from '../order/hooks.js';
import { isObject } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import { rollbackSchema } from '../schema/actions/action.js';
import type { Action, ActionType, RetryPolicy } from '../types.js';
import { checkWhen } from '../when/when.js';
import { error, readField, show, warning } from '../../core/fields.js';
import { checkName } from './names.js';
import { isTemplated } from './sample.js';

const MAX_MULTIPLIER = 100;

/** Checks one action with its custom rollback; names, order and references are the workflow's. */
export function checkAction(action: Action, path: string): Problem[] {
  return [
    ...checkStep(action, path),
    ...(action.when === undefined ? [] : checkCondition(action.when, `${path}.when`)),
    ...checkHookType(action, `${path}.hookType`),
    ...checkHookCleanup(action, `${path}.hookCleanup`),
    ...checkRollback(action, path),
  ];
}

function checkHookType({ hookType, type }: Action, path: string): Problem[] {
  if (isUnset(hookType)) return [];
  const hook = hookOf({ hookType });
  if (hook === undefined) {
    return [error(path, 'InvalidField', `is ${show(hookType)}; allowed are ${HOOK_TYPES.join(', ')}`)];
  }
  const descriptor = findDescriptor(type);
  if (hook.mode !== 'Rollback' || descriptor?.asksPerson !== true) return [];
  const message = `is ${hookType}, but a revert waits for nobody, as it must not stop half way: remove the ${descriptor.field}`;
  return [error(path, 'UnsupportedField', message)];
}

function checkHookCleanup(action: Action, path: string): Problem[] {
  if (isUnset(action.hookCleanup) || !isActionType(action.type)) return [];
  if (descriptorOf(action.type).creates !== true) {
    const message = `has no effect on an action of type ${action.type}, which makes no object`;
    return [warning(path, 'IgnoredField', message)];
  }
  const operation = operationOf(action);
  if (operation !== 'Patch' && operation !== 'Delete') return [];
  return [warning(path, 'IgnoredField', `has no effect with operation ${operation}, which makes no object`)];
}

/** Checks a condition of an action or a stage. */
export function checkCondition(when: string, path: string): Problem[] {
  return checkWhen(when).map((problem) => ({ ...problem, path }));
}

/** What an action and a custom rollback have in common. */
function checkStep(action: Action, path: string): Problem[] {
  const { type } = action;
  const common = [
    ...checkPerCluster(action, path),
    ...checkTarget(action, `${path}.target`),
    ...checkTimes(action, path),
    ...checkRetry(action.retryPolicy, `${path}.retryPolicy`),
  ];
  if (!isActionType(type)) return [...common, ...checkUnknownType(type, path)];
  return [...common, ...checkBlocks(action, type, path), ...checkOperation(action, type, path)];
}

function checkUnknownType(type: string, path: string): Problem[] {
  const message = `is ${show(type)}; allowed are ${ACTION_TYPES.join(', ')}`;
  return [error(`${path}.type`, 'InvalidField', message)];
}

/** Where the mode has no effect, the original silently acts globally. */
function checkPerCluster(action: Action, path: string): Problem[] {
  const { clusterExecutionMode: mode, maxConcurrentClusters, type, waitReady } = action;
  const problems: Problem[] = [];
  const where = `${path}.clusterExecutionMode`;
  if (!isUnset(mode) && !CLUSTER_EXECUTION_MODES.includes(mode ?? '')) {
    const message = `is ${show(mode)}; allowed are ${CLUSTER_EXECUTION_MODES.join(', ')}`;
    problems.push(error(where, 'InvalidField', message));
  } else if (mode === 'PerCluster' && findDescriptor(type)?.perCluster !== true) {
    problems.push(
      warning(where, 'IgnoredField', hasEffectOn(typesWhere(({ perCluster }) => perCluster === true))),
    );
  } else if (mode === 'PerCluster' && waitReady !== true) {
    const message =
      'has an effect with waitReady: true only; without it one Subscription is written for all clusters';
    problems.push(warning(where, 'IgnoredField', message));
  }
  if (maxConcurrentClusters !== undefined && perClusterOf(action) === undefined) {
    const message = 'has an effect with clusterExecutionMode: PerCluster only';
    problems.push(warning(`${path}.maxConcurrentClusters`, 'IgnoredField', message));
  }
  return problems;
}

const hasEffectOn = (types: readonly string[]): string =>
  `has an effect on type${types.length === 1 ? '' : 's'} ${types.join(' and ')} only`;

function checkTarget({ target, type }: Action, path: string): Problem[] {
  if (target === undefined) return [];
  if (isActionType(type) && descriptorOf(type).targetable !== true) {
    const allowed = typesWhere(({ targetable }) => targetable === true);
    const message = `is set, but an action of type ${type} acts on its own cluster only; allowed are ${allowed.join(', ')}: remove it`;
    return [error(path, 'UnsupportedField', message)];
  }
  return checkName(target.kubeconfigSecretRef.name, `${path}.kubeconfigSecretRef.name`, 'subdomain');
}

const isUnset = (value: unknown): boolean => value === undefined || value === null || value === '';

function checkBlocks(action: Action, type: ActionType, path: string): Problem[] {
  const descriptor = descriptorOf(type);
  const where = `${path}.${descriptor.field}`;
  const problems = Object.values<ActionDescriptor>(ACTIONS)
    .filter(
      ({ field }) => field !== descriptor.field && (action as Record<string, unknown>)[field] !== undefined,
    )
    .map(({ field }) =>
      warning(`${path}.${field}`, 'IgnoredField', `is ignored, as the action has type ${type}`),
    );
  if (action.waitReady === true && descriptor.waitsReady !== true) {
    const message = hasEffectOn(typesWhere(({ waitsReady }) => waitsReady === true).reverse());
    problems.push(warning(`${path}.waitReady`, 'IgnoredField', message));
  }
  const block = blockOf(action);
  if (block === undefined) {
    problems.push(error(where, 'InvalidField', `is missing; an action of type ${type} needs it`));
    return problems;
  }
  return [...problems, ...descriptor.check(block, action, where)];
}

function checkOperation(action: Action, type: ActionType, path: string): Problem[] {
  const { field, operations: allowed } = descriptorOf(type);
  const operation = operationOf(action);
  if (allowed === undefined || operation === undefined || isTemplated(operation)) return [];
  if (allowed.includes(operation)) return [];
  const message = `is ${show(operation)}; allowed are ${allowed.join(', ')}`;
  return [error(`${path}.${field}.operation`, 'InvalidField', message)];
}

function checkTimes(action: Action, path: string): Problem[] {
  const problems: Problem[] = [];
  for (const field of ['timeout', 'totalTimeout'] as const) {
    const text = action[field];
    if (text === undefined) continue;
    const ms = parseDuration(text);
    const least = field === 'timeout' ? 0 : 1;
    if (ms === undefined || ms < least || ms > MAX_TIMEOUT_MS) {
      const none = field === 'timeout' ? ', or 0s for none' : '';
      const message = `is ${show(text)}; must be a duration above 0 and at most 720h, such as 30s, 5m or 1h30m${none}`;
      problems.push(error(`${path}.${field}`, 'InvalidField', message));
    }
  }
  const one = timeoutOf(action);
  const all = parseDuration(action.totalTimeout ?? '');
  if (all !== undefined && all < one) {
    const message = `is shorter than the timeout of one attempt (${formatDuration(one)}), which it cuts short`;
    problems.push(warning(`${path}.totalTimeout`, 'SuspectField', message));
  }
  return problems;
}

function checkRetry(policy: RetryPolicy | undefined, path: string): Problem[] {
  if (policy === undefined) return [];
  const problems: Problem[] = [];
  const { interval, backoffMultiplier } = policy;
  const ms = interval === undefined ? undefined : parseDuration(interval);
  if (interval !== undefined && ms === undefined) {
    problems.push(
      error(
        `${path}.interval`,
        'InvalidField',
        `is ${show(interval)}; must be a duration such as 500ms, 5s or 1m`,
      ),
    );
  }
  if (ms !== undefined && ms > MAX_RETRY_INTERVAL_MS) {
    problems.push(
      warning(`${path}.interval`, 'SuspectField', `is ${show(interval)}; no wait is longer than 5m`),
    );
  }
  if (backoffMultiplier !== undefined) {
    const number =
      typeof backoffMultiplier === 'string' && backoffMultiplier.trim() === ''
        ? NaN
        : Number(backoffMultiplier);
    if (!(number >= 1 && number <= MAX_MULTIPLIER)) {
      const message = `is ${show(backoffMultiplier)}; must be a number from 1 to ${MAX_MULTIPLIER}`;
      problems.push(error(`${path}.backoffMultiplier`, 'InvalidField', message));
    }
  }
  return problems;
}

/** Rules of the custom rollback (S5.47). */
function checkRollback(action: Action, path: string): Problem[] {
  const where = `${path}.rollback`;
  if (action.rollback === undefined) return missingRollback(action, path);
  const read = readField(rollbackSchema, action.rollback, where);
  if (!read.ok) return read.problems;
  const rollback = rollbackOf({ ...action, rollback: read.value });
  if (rollback === undefined) return [];
  const problems = checkStep(rollback, where);
  if (findDescriptor(rollback.type)?.asksPerson === true) {
    const message = `is ${rollback.type}; a rollback waits for nobody, as a revert must not stop half way`;
    problems.push(error(`${where}.type`, 'UnsupportedField', message));
  }
  for (const field of ['rollback', 'when', 'dependsOn', 'hookType', 'hookCleanup']) {
    if (!isObject(action.rollback) || isUnset(action.rollback[field])) continue;
    problems.push(warning(`${where}.${field}`, 'IgnoredField', 'has no effect inside a rollback'));
  }
  return problems;
}

function missingRollback(action: Action, path: string): Problem[] {
  const { type } = action;
  if (!isActionType(type)) return [];
  const descriptor = descriptorOf(type);
  const operation = operationOf(action);
  if (operation !== undefined) {
    const where = `${path}.${descriptor.field}.operation`;
    if (operation === 'Patch') {
      return [
        error(
          where,
          'MissingRollback',
          'is Patch, which needs a rollback in the action: say how the patch is undone',
        ),
      ];
    }
    if (isTemplated(operation)) {
      return [
        warning(
          where,
          'MissingRollback',
          'may become Patch, which is refused at run time without a rollback; add one',
        ),
      ];
    }
    return [];
  }
  const { noInverse } = traitsOf(type);
  const block = blockOf(action);
  if (noInverse === undefined || block === undefined || descriptor.changesNothing?.(block) === true)
    return [];
  return [
    warning(path, 'NoRollback', `cannot be undone by a revert: ${noInverse} has no inverse; add a rollback`),
  ];
}
