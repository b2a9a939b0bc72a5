import { z } from 'zod';
import { oneOfOrPlaceholder } from '../schema/common.js';
import { headerFromSchema } from '../schema/actions/secret-key.js';
import type { Problem } from '../../core/problem.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { isHostOf, renderHeaderValue, userInfoProblem, withoutUserInfo } from '../template/render.js';
import { SECRET_NAME } from '../template/secret-names.js';
import { error, member, show, warning } from '../../core/fields.js';
import {
  checkHeaderName,
  checkHeaderNames,
  checkUrl,
  checkVerification,
  refusedUrl,
} from '../validate/requests.js';
import { isTemplated, trySample } from '../validate/sample.js';
import type { ActionDescriptor } from './descriptor.js';

/** Methods that a request may have. */
const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const httpActionSchema = z
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

const httpResponseSchema = z
  .object({
    statusCode: z.int().describe('Status code of the response.'),
    body: z.string().optional().describe('First 1000 characters of the body.'),
  })
  .describe('Summary of an HTTP response.');

const READS: readonly (string | undefined)[] = ['GET', 'HEAD', 'OPTIONS'];

/** HTTP: a request. Nobody knows what undoes it but its author. */
export const http = {
  field: 'http',
  schema: httpActionSchema,
  title: 'The request (type HTTP).',
  preflight: 'look',
  traits: { noInverse: 'an HTTP action' },
  outputs: { httpResponse: httpResponseSchema.optional() },
  bulk: ['httpResponse', 'body'],
  // Of an answer 1,000 characters are kept (S3.19).
  outputBytes: 4 * 1024,
  check: checkHttp,
  // A templated method may do anything.
  changesNothing: (block) => READS.includes(methodOf(block)),
  refusals: ({ url }, policy) => refusedUrl(url, policy, 'http.url'),
  carriesSecret: ({ headers = {} }) => Object.keys(headers).some((name) => SECRET_NAME.test(name)),
  summary: ({ method, url }) => `${method ?? 'GET'} ${shownUrl(url)}`,
} as const satisfies ActionDescriptor<HTTPAction>;

/** Method of a request, upper case: default GET; undefined while it is a placeholder. */
function methodOf(block: HTTPAction): string | undefined {
  const method = block.method ?? '';
  if (method === '') return 'GET';
  return isTemplated(method) ? undefined : method.toUpperCase();
}

/** Checks an HTTP action: URL, method, headers, transport security. */
function checkHttp(block: HTTPAction, _: StepFields, path: string): Problem[] {
  const problems = checkUrl(block.url, `${path}.url`);
  const method = methodOf(block);
  if (method !== undefined && !(HTTP_METHODS as readonly string[]).includes(method)) {
    const message = `is ${show(block.method)}; allowed are ${HTTP_METHODS.join(', ')}`;
    problems.push(error(`${path}.method`, 'InvalidField', message));
  }
  if ((method === 'GET' || method === 'HEAD') && (block.body ?? '') !== '') {
    problems.push(
      warning(
        `${path}.body`,
        'SuspectField',
        `a ${method} request has a body, which most servers ignore; set method`,
      ),
    );
  }
  problems.push(...checkVerification(block, path));
  return [...problems, ...checkSuccessCodes(block, path), ...checkHeaders(block, path)];
}

/** Any number is taken, as the original does; one that no answer has is most likely misspelt. */
function checkSuccessCodes({ successCodes = [] }: HTTPAction, path: string): Problem[] {
  return successCodes.flatMap((code, index) =>
    code >= 100 && code <= 999
      ? []
      : [
          warning(
            `${path}.successCodes[${index}]`,
            'SuspectField',
            `is ${code}, which no answer has: status codes have three digits`,
          ),
        ],
  );
}

/** Another host in `Host` than in the URL is refused; with placeholders it is left to the call. */
function checkHost(name: string, value: string, url: string, where: string): Problem[] {
  if (name.toLowerCase() !== 'host' || isTemplated(value) || isTemplated(url) || !URL.canParse(url))
    return [];
  if (isHostOf(value, url)) return [];
  const message = `header "${name}" differs from ${new URL(url).host}, the host of the URL; remove it, and write the host that is meant in the URL`;
  return [error(where, 'InvalidHeader', message)];
}

function checkHeaders(block: HTTPAction, path: string): Problem[] {
  const seen = new Set<string>();
  const problems = Object.entries(block.headers ?? {}).flatMap(([name, value]) => {
    const where = member(`${path}.headers`, name);
    const sample = trySample(where, [value], (scope) => renderHeaderValue(value, scope));
    return [
      ...checkHeaderName(name, where, seen),
      ...('problems' in sample ? sample.problems : checkHost(name, value, block.url, where)),
    ];
  });
  return [...problems, ...checkHeaderNames(block.headersFrom ?? [], `${path}.headersFrom`, seen)];
}

/** Of objects that an earlier release admitted, or that no webhook has seen: no password is ever shown. */
const shownUrl = (url: string): string => (userInfoProblem(url) === undefined ? url : withoutUserInfo(url));
