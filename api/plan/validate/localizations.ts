import { isObject } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import { RenderError, renderString, renderValue } from '../template/render.js';
import type { RenderScope } from '../template/render.js';
import type { Action, Scalar } from '../types.js';
import { warning } from '../../core/fields.js';

/** One use of an action, with the values that its plan gives it. */
export interface ActionUse {
  action: Action;
  params: Readonly<Record<string, Scalar>>;
  path: string;
}

const DEFAULT_PRIORITY = 500;

/**
 * Warns about actions of one plan that write different Localizations of the same feed, in the same namespace, at the
 * same priority: Clusternet then decides by the second within the minute in which they were created, which leaves the
 * outcome of a failover to chance (S3.34). What is not known before an execution is left alone.
 */
export function checkPriorities(uses: readonly ActionUse[], planName: string): Problem[] {
  const seen = new Map<string, { name: string; path: string }>();
  const problems: Problem[] = [];
  for (const { action, params, path } of uses) {
    const written = readLocalization(action, {
      params: { ...params },
      planName,
      executionName: planName,
      operation: 'Execute',
      outputs: {},
    });
    if (written === undefined) continue;
    const { name, key, priority } = written;
    const first = seen.get(key);
    if (first === undefined) seen.set(key, { name, path });
    else if (first.name !== name) {
      const message = `is ${priority} (default ${DEFAULT_PRIORITY}), as that of Localization "${first.name}" of ${first.path}, which changes the same feed: which of them wins is left to chance; give them different priorities`;
      problems.push(warning(`${path}.localization.priority`, 'EqualPriority', message));
    }
  }
  return problems;
}

function readLocalization(
  { type, localization: block }: Action,
  scope: RenderScope,
): { name: string; key: string; priority: number } | undefined {
  if (type !== 'Localization' || block === undefined || block.operation === 'Delete') return undefined;
  const body = isObject(block.spec) ? block.spec : block;
  try {
    const feed = renderValue(body.feed, scope);
    const priority = renderValue(body.priority ?? DEFAULT_PRIORITY, scope);
    if (!isObject(feed) || typeof priority !== 'number') return undefined;
    const { apiVersion, kind, namespace, name } = feed;
    const key = JSON.stringify([
      renderString(block.namespace, scope),
      apiVersion,
      kind,
      namespace ?? '',
      name,
      priority,
    ]);
    return { name: renderString(block.name, scope), key, priority };
  } catch (error) {
    if (error instanceof RenderError) return undefined;
    throw error;
  }
}
