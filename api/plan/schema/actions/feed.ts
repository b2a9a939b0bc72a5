import { z } from 'zod';

export const feedSchema = z
  .object({
    apiVersion: z.string().min(1).describe('API version of the source.'),
    kind: z.string().min(1).describe('Kind of the source.'),
    name: z.string().min(1).describe('Name of the source.'),
    namespace: z.string().optional().describe('Namespace of the source.'),
  })
  .describe('A source object that Clusternet distributes.');
/** A Clusternet feed (in the original: Feed). */
export type Feed = z.infer<typeof feedSchema>;
