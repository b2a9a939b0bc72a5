/**
 * Which bodies stay out of Temporal's history because they carry secrets (S6.14): an activity reads those
 * from the snapshot. A guess by names, on the safe side; it decides where a body travels, never what is done.
 */
import type { ActionBody } from './run.js';
import type { Action, RollbackAction } from '../types.js';

const SECRET_KIND = /(^|\n|[{,])\s*["']?kind["']?\s*:\s*["']?Secret\b/;
/** Names of parameters, headers and the like that hold secrets. */
export const SECRET_NAME =
  /pass(word|wd|phrase)?$|passw|secret|token|credential|api-?_?key|private-?_?key|authorization|cookie/i;

/** Whether an action, or a parameter that it uses, looks like it carries a secret. */
export function carriesSecret(body: ActionBody): boolean {
  return (
    Object.keys(body.params).some((name) => SECRET_NAME.test(name)) ||
    actionCarriesSecret(body.action) ||
    (body.action.rollback !== undefined && actionCarriesSecret(body.action.rollback))
  );
}

function actionCarriesSecret(action: Pick<Action, 'http' | 'notify' | 'resource'> | RollbackAction): boolean {
  const { http, notify, resource } = action;
  if (typeof resource?.manifest === 'string' && SECRET_KIND.test(resource.manifest)) return true;
  // The address of a chat is the right to post there.
  if (notify?.url !== undefined && (notify.type === 'Slack' || notify.type === 'Lark')) return true;
  return Object.keys(http?.headers ?? {}).some((name) => SECRET_NAME.test(name));
}
