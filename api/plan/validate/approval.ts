import { parseDuration } from '../../core/duration.js';
import type { Problem } from '../../core/problem.js';
import { renderString } from '../template/render.js';
import type { Action, ApprovalAction } from '../types.js';
import { error, show, warning } from './fields.js';
import { trySample } from './sample.js';

/** Longest wait: 30 days, as for a timeout. */
const MAX_WAIT_MS = 30 * 24 * 3_600_000;

/** Checks an Approval: somebody can answer it, and enough of them. */
export function checkApproval(approval: ApprovalAction, action: Action, path: string): Problem[] {
  const { message, approvers, quorum = 1, timeout, defaultOutcome } = approval;
  const { users = [], groups = [] } = approvers;
  const sample = trySample(`${path}.message`, [message], (scope) => renderString(message, scope));
  const problems = 'problems' in sample ? [...sample.problems] : [];
  if (users.length + groups.length === 0) {
    problems.push(
      error(`${path}.approvers`, 'InvalidField', 'names nobody; give at least one user or group'),
    );
  } else if (groups.length === 0 && new Set(users).size < quorum) {
    const text = `is ${quorum}, and only ${new Set(users).size} may approve; name more users, or a group`;
    problems.push(error(`${path}.quorum`, 'InvalidField', text));
  } else if (groups.length === 0 && new Set(users).size === quorum && approval.excludeRequester !== false) {
    const text = 'needs every approver, so none of them can be who asks for the execution; name more of them';
    problems.push(warning(`${path}.quorum`, 'SuspectField', text));
  }
  const ms = timeout === undefined ? undefined : parseDuration(timeout);
  if (timeout !== undefined && (ms === undefined || ms <= 0 || ms > MAX_WAIT_MS)) {
    const text = `is ${show(timeout)}; must be a duration above 0 and at most 720h, such as 30m or 24h`;
    problems.push(error(`${path}.timeout`, 'InvalidField', text));
  }
  if (defaultOutcome !== undefined && timeout === undefined) {
    problems.push(warning(`${path}.defaultOutcome`, 'IgnoredField', 'has no effect without a timeout'));
  } else if (defaultOutcome === 'Approve') {
    const text = 'is Approve: the plan goes on when nobody answers in time';
    problems.push(warning(`${path}.defaultOutcome`, 'SuspectField', text));
  }
  const step = path.replace(/\.approval$/, '');
  for (const field of ['timeout', 'totalTimeout', 'retryPolicy', 'interruptible'] as const) {
    if (action[field] === undefined) continue;
    const text = `has no effect on an Approval${field === 'timeout' ? '; write approval.timeout' : ''}`;
    problems.push(warning(`${step}.${field}`, 'IgnoredField', text));
  }
  return problems;
}
