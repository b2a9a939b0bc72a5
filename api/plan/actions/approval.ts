import { z } from 'zod';
import { duration } from '../schema/common.js';

export const approvalActionSchema = z
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
