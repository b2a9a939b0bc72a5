import { expect, it } from 'vitest';
import { KubeError } from './error.js';
import { createOpenApi } from './openapi.js';

const INDEX = {
  paths: {
    'api/v1': { serverRelativeURL: '/openapi/v3/api/v1?hash=1' },
    'apis/apps/v1': { serverRelativeURL: '/openapi/v3/apis/apps/v1?hash=1' },
  },
};

function serverOf(answers: Record<string, unknown>) {
  const asked: string[] = [];
  const openApi = createOpenApi(
    {
      raw: <T>({ path }: { path: string }) => {
        asked.push(path);
        const answer = answers[path];
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T);
      },
    },
    (schemas, apiVersion) => `${apiVersion}: ${Object.keys(schemas).join()}`,
  );
  return { openApi, asked };
}

it('[F7] reads a document once, for all who ask at the same time and later', async () => {
  const { openApi, asked } = serverOf({
    '/openapi/v3': INDEX,
    '/openapi/v3/api/v1?hash=1': { components: { schemas: { Pod: {}, Node: {} } } },
  });
  expect(await Promise.all([openApi.of('v1'), openApi.of('v1')])).toEqual(['v1: Pod,Node', 'v1: Pod,Node']);
  expect(await openApi.of('v1')).toBe('v1: Pod,Node');
  expect(await openApi.of('example.org/v1')).toBeUndefined();
  expect(asked).toEqual(['/openapi/v3', '/openapi/v3/api/v1?hash=1']);
});

it('[F7] asks again after a failure, and knows nothing where a server tells nothing', async () => {
  const refused = new KubeError('forbidden', { code: 403, reason: 'Forbidden' });
  const answers: Record<string, unknown> = {
    '/openapi/v3': INDEX,
    '/openapi/v3/apis/apps/v1?hash=1': refused,
  };
  const { openApi } = serverOf(answers);
  await expect(openApi.of('apps/v1')).rejects.toBe(refused);
  answers['/openapi/v3/apis/apps/v1?hash=1'] = { components: { schemas: { Deployment: {} } } };
  expect(await openApi.of('apps/v1')).toBe('apps/v1: Deployment');
  const older = serverOf({ '/openapi/v3': new KubeError('none', { code: 404, reason: 'NotFound' }) });
  expect(await older.openApi.of('v1')).toBeUndefined();
});
