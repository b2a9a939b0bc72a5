import type { Refusal } from '../../../api/core/refusal.js';
import { descriptorOf } from '../../../api/plan/actions/table.js';
import { renderString } from '../../../api/plan/template/render.js';
import type { ActionType } from '../../../api/plan/types.js';
import type { RenderScope } from '../../../api/plan/template/render.js';
import type { ObjectOperation } from '../../core/object-task.js';

/**
 * The operation of an action, rendered; absent means Create, as in the original. Names are read exactly as they are
 * written.
 */
export function operationOf(
  type: ActionType,
  written: string | undefined,
  scope: RenderScope,
): { ok: true; operation: ObjectOperation } | ({ ok: false } & Refusal) {
  const operation = renderString(written || 'Create', scope);
  const { operations: allowed = [] } = descriptorOf(type);
  return allowed.includes(operation)
    ? { ok: true, operation: operation as ObjectOperation }
    : {
        ok: false,
        reason: 'InvalidOperation',
        message: `operation "${operation}" is not known; allowed are ${allowed.join(', ')}`,
      };
}
