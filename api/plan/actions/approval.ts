import { z } from 'zod';
import { duration, time } from '../../core/schema.js';
import { parseDuration } from '../../core/duration.js';
import type { Problem } from '../../core/problem.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { renderString } from '../template/render.js';
import { error, show, warning } from '../../core/fields.js';
import { trySample } from '../validate/sample.js';
import type { ActionDescriptor } from './descriptor.js';

/** Longest wait: 30 days, as for a timeout. */
const MAX_WAIT_MS = 30 * 24 * 3_600_000;

const approvalActionSchema = z
  .object({
    message: z
      .string()
      .min(1)
      .max(4096)
      .describe('What is to be approved, for those who do. Placeholders are filled in.'),
    approvers: z
      .object({
        users: z.array(z.string().min(1).max(256)).max(100).optional().describe('Names of users.'),
        groups: z.array(z.string().min(1).max(256)).max(100).optional().describe('Names of groups.'),
      })
      .describe('Who may answer, as the API server names them. At least one user or group.'),
    quorum: z.int().min(1).max(100).optional().describe('How many persons must approve (default 1).'),
    excludeRequester: z
      .boolean()
      .optional()
      .describe('Whether who asked for the execution may not approve it (default true).'),
    timeout: duration('Longest wait for answers (default none).').optional(),
    defaultOutcome: z
      .enum(['Reject', 'Approve'])
      .optional()
      .describe('What counts when the time is up (default Reject).'),
  })
  .describe('A wait for persons who approve or reject. Changes nothing.');
/** Approval action (added). */
export type ApprovalAction = z.infer<typeof approvalActionSchema>;

const stateSchema = z.object({
  message: z.string().describe('What is to be approved.'),
  approvers: z
    .object({
      users: z.array(z.string()).max(100).optional().describe('Names of users.'),
      groups: z.array(z.string()).max(100).optional().describe('Names of groups.'),
    })
    .describe('Who may answer.'),
  quorum: z.int().describe('How many persons must approve.'),
  excludeRequester: z.boolean().describe('Whether who asked for the execution may not approve it.'),
  expires: time('When the default outcome counts.'),
  answers: z
    .array(
      z
        .object({
          user: z.string().describe('Who answered.'),
          decision: z.enum(['Approve', 'Reject']).describe('Approve or Reject.'),
          comment: z.string().optional().describe('What was said with it.'),
          time: time('When.'),
          verified: z.boolean().describe('Whether the API server vouches for the user.'),
        })
        .describe('An answer that counts.'),
    )
    .max(100)
    .describe('Answers so far.'),
});

/** Approval: a condition of the workflow itself, answered by persons. */
export const approval = {
  field: 'approval',
  schema: approvalActionSchema,
  title: 'Who has to agree (type Approval).',
  preflight: 'nothing',
  traits: { isStep: true },
  asksPerson: true,
  deletion: 'first',
  outputs: {
    approval: stateSchema.optional().describe('Approval: what is asked, and who has answered.'),
  },
  check: checkApproval,
  changesNothing: () => true,
  step: () => ({ kind: 'approval' }),
  summary: summaryOf,
} as const satisfies ActionDescriptor<ApprovalAction>;

/** Checks an Approval: somebody can answer it, and enough of them. */
function checkApproval(block: ApprovalAction, step: StepFields, path: string): Problem[] {
  const { message, approvers, quorum = 1, timeout, defaultOutcome } = block;
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
  } else if (groups.length === 0 && new Set(users).size === quorum && block.excludeRequester !== false) {
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
  const outer = path.replace(/\.approval$/, '');
  for (const field of ['timeout', 'totalTimeout', 'retryPolicy', 'interruptible'] as const) {
    if (step[field] === undefined) continue;
    const text = `has no effect on an Approval${field === 'timeout' ? '; write approval.timeout' : ''}`;
    problems.push(warning(`${outer}.${field}`, 'IgnoredField', text));
  }
  return problems;
}

/** Who has to approve. */
function summaryOf({ approvers, quorum = 1 }: ApprovalAction): string {
  const { users = [], groups = [] } = approvers;
  return `${quorum} of ${[...users, ...groups.map((group) => `group ${group}`)].join(', ')}`;
}
