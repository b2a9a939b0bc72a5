import { z } from 'zod';

export const waitActionSchema = z
  .object({
    duration: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('Time to wait, such as 30s or 5m. May be a placeholder of a parameter. Excludes `for`.'),
    for: z
      .object({
        apiVersion: z.string().min(1).max(253).describe('API version of the object.'),
        kind: z.string().min(1).max(253).describe('Kind of the object.'),
        namespace: z
          .string()
          .max(253)
          .optional()
          .describe("Namespace of the object (default: the execution's)."),
        name: z.string().min(1).max(253).describe('Name of the object.'),
      })
      .optional()
      .describe('The object to watch. It need not exist yet. Placeholders are filled in.'),
    condition: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'CEL condition over `object`, which is null while there is none, such as object.status.readyReplicas >= 2.',
      ),
    jsonPath: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe('Instead of condition: a path as kubectl knows it, such as {.status.phase}.'),
    failWhen: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'CEL condition over `object` as for condition: when it holds, the wait ends as Failed at once, such as object.status.phase == "Lost".',
      ),
    value: z
      .string()
      .max(1024)
      .optional()
      .describe('Value that jsonPath must find; absent: any value. Placeholders are filled in.'),
  })
  .describe('A wait: for a time, or until an object is as it should be. Changes nothing.');
/** Wait action (added). */
export type WaitAction = z.infer<typeof waitActionSchema>;
