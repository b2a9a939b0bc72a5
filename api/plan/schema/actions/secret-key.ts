import { z } from 'zod';

/** A key of a Secret in the plan's namespace. */
export const secretKeySchema = z
  .object({
    name: z.string().min(1).max(253).describe("Name of the Secret, in the plan's namespace."),
    key: z.string().min(1).max(253).describe('Key in the Secret.'),
  })
  .describe('Where the value comes from.');

/** A request header kept in a Secret. */
export const headerFromSchema = z
  .object({
    name: z.string().min(1).max(256).describe('Name of the header.'),
    prefix: z.string().max(256).optional().describe('Text put before the value, for example "Bearer ".'),
    secretKeyRef: secretKeySchema,
  })
  .describe('A request header whose value is kept in a Secret.');
