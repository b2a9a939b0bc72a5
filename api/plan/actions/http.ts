import { z } from 'zod';
import { oneOfOrPlaceholder } from '../schema/common.js';
import { headerFromSchema } from '../schema/actions/secret-key.js';

/** Methods that a request may have. */
export const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export const httpActionSchema = z
  .object({
    url: z
      .string()
      .min(1)
      .max(8192)
      .describe('URL of the request. Placeholders in path and query are percent-encoded.'),
    method: z
      .string()
      .max(256)
      .optional()
      .meta(oneOfOrPlaceholder(HTTP_METHODS, { anyCase: true }))
      .describe(
        `Method of the request (default GET): ${HTTP_METHODS.join(', ')}, in any case. May be a placeholder.`,
      ),
    headers: z.record(z.string(), z.string()).optional().describe('Headers of the request.'),
    headersFrom: z
      .array(headerFromSchema)
      .max(64)
      .optional()
      .describe('Headers whose values are kept in Secrets.'),
    body: z
      .string()
      .optional()
      .describe('Body of the request. JSON and YAML bodies are filled in by structure, not as text.'),
    successCodes: z
      .array(z.int())
      .max(1000)
      .optional()
      .describe('Status codes that mean success. Absent or empty: 200 to 299.'),
    insecureSkipVerify: z
      .boolean()
      .optional()
      .describe("Whether the server's certificate goes unchecked (default false)."),
  })
  .describe('An HTTP request.');
/** HTTP action (in the original: HTTPAction). */
export type HTTPAction = z.infer<typeof httpActionSchema>;
