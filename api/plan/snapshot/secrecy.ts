/**
 * Which bodies stay out of Temporal's history because they carry secrets (S6.14): an activity reads those
 * from the snapshot. A guess by names, on the safe side; it decides where a body travels, never what is done.
 */
import type { ActionDescriptor } from '../actions/descriptor.js';
import { ACTIONS } from '../actions/table.js';
import { SECRET_NAME } from '../template/secret-names.js';
import type { ActionBody } from './run.js';
import type { Action, RollbackAction } from '../types.js';

/** Whether an action, or a parameter that it uses, looks like it carries a secret. */
export function carriesSecret(body: ActionBody): boolean {
  return (
    Object.keys(body.params).some((name) => SECRET_NAME.test(name)) ||
    actionCarriesSecret(body.action) ||
    (body.action.rollback !== undefined && actionCarriesSecret(body.action.rollback))
  );
}

/** The block of another type is not carried out, but it travels. */
const actionCarriesSecret = (action: Action | RollbackAction): boolean =>
  Object.values<ActionDescriptor>(ACTIONS).some((descriptor) => {
    const block = (action as Record<string, unknown>)[descriptor.field];
    return block !== undefined && descriptor.carriesSecret?.(block) === true;
  });
