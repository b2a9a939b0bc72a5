import { Agent, request } from 'node:https';
import fc from 'fast-check';
import { Histogram } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { validatePlan, validateWorkflow } from '../../api/plan/validate/index.js';
import type { KubeClient } from '../../kube/client.js';
import { createTestSealer } from '../plan/testing/sealer.js';
import { createAuthority } from '../plan/review/authority.js';
import { renew } from './certificates.js';
import type { Material } from './certificates.js';
import { responseTo } from '../core/review.js';
import type { Rules } from '../core/review.js';
import { serveReviews } from './server.js';
import type { WebhookServer } from './server.js';
import { stamp } from '../plan/review/stamp.js';
import type { StampDeps } from '../plan/review/stamp.js';

const reviews = new Histogram({
  name: 'reviews',
  help: 'reviews',
  labelNames: ['kind', 'operation', 'result'] as const,
  registers: [],
});
const errors: string[] = [];
const failures: string[] = [];
const log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (_: object, message: string) => {
    errors.push(message);
  },
};
const kube = {} as KubeClient;
const deps = {
  dr: { kube, sealer: createTestSealer() } as unknown as StampDeps['dr'],
  authority: createAuthority(kube, 'Off'),
  lookups: { plan: () => Promise.resolve(undefined) },
};
const rules: Rules = (path, review) => {
  switch (path) {
    case '/validate':
      return responseTo(
        review.kind === 'DRPlan'
          ? validatePlan(review.object, () => undefined)
          : validateWorkflow(review.object),
      );
    case '/stamp':
      return stamp(deps, review);
    case '/bug':
      throw new Error('a bug');
    default:
      return undefined;
  }
};

let material: Material;
let server: WebhookServer;
beforeAll(async () => {
  const lifetimes = { servingMs: 3_600_000, authorityMs: 3_600_000 };
  ({ material } = await renew(undefined, { hosts: ['127.0.0.1'], now: new Date(), lifetimes }));
  server = await serveReviews({
    host: '127.0.0.1',
    port: 0,
    certificate: material,
    rules,
    kinds: new Set(['DRPlan']),
    log,
    reviews,
    onFailure: (reason) => failures.push(reason),
  });
});
afterAll(() => server.close());

const agent = new Agent({ keepAlive: true });

interface Answer {
  status: number;
  text: string;
}

function post(path: string, body: string | Buffer, method = 'POST'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: server.port, ca: material.caBundle, path, method, agent },
      (response) => {
        let text = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => (text += chunk))
          .on('end', () => {
            resolve({ status: response.statusCode ?? 0, text });
          });
      },
    );
    sent.on('error', reject).end(body);
  });
}

const review = (object: unknown, kind = 'DRWorkflow'): string =>
  JSON.stringify({
    request: { uid: 'u', kind: { kind }, operation: 'CREATE', userInfo: { username: 'x' }, object },
  });
const response = ({ text }: Answer) =>
  (
    JSON.parse(text) as {
      response: { uid: string; allowed: boolean; status?: { code: number; message: string } };
    }
  ).response;

describe('the server', () => {
  it('answers 400, 404, 405 and 500 for what is no review, and goes on', async () => {
    expect(await post('/validate', '{')).toMatchObject({
      status: 400,
      text: expect.stringContaining('JSON'),
    });
    expect(await post('/validate', '[]')).toMatchObject({ status: 400 });
    expect(await post('/validate', '{"request":{"uid":1}}')).toMatchObject({ status: 400 });
    expect(await post('/validate', review({ metadata: { annotations: [] } }))).toMatchObject({ status: 400 });
    expect(await post('/elsewhere', review({}))).toMatchObject({ status: 404 });
    expect(await post('/validate', '', 'PUT')).toMatchObject({ status: 405 });
    expect(await post('/bug', review({}))).toMatchObject({ status: 500 });
    expect(failures).toEqual([...Array<string>(6).fill('invalid'), 'error']);
    expect(errors).toEqual(['could not answer an admission review']);
    expect(response(await post('/validate', review({ spec: {} }))).allowed).toBe(false);
  });

  it('cuts off what is too large, and goes on', async () => {
    // Whether the client gets to read the answer depends on how much of its own it has still to send.
    const large = await post('/validate', Buffer.alloc(17 * 1024 * 1024, ' ')).catch(() => ({ status: 413 }));
    expect(large.status).toBe(413);
    expect((await post('/validate', review({ spec: {} }))).status).toBe(200);
  });

  it('refuses what is too deep or too large to be looked at', async () => {
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    const text = review({ spec: '#' }).replace('"#"', deep);
    expect(response(await post('/validate', text)).status?.message).toMatch(/levels deep/);
    const wide = response(await post('/validate', review({ spec: { actions: Array(250_000).fill({}) } })));
    expect(wide.status?.message).toMatch(/more than 200000 values/);
  });

  it('serves another certificate without a pause', async () => {
    const lifetimes = { servingMs: 3_600_000, authorityMs: 3_600_000 };
    const { material: next } = await renew(undefined, { hosts: ['127.0.0.1'], now: new Date(), lifetimes });
    server.setCertificate(next);
    // Open connections go on; new ones need the new authority.
    expect((await post('/validate', review({ spec: {} }))).status).toBe(200);
    agent.destroy();
    await expect(post('/validate', review({ spec: {} }))).rejects.toThrow(/certificate/);
    material = next;
    expect((await post('/validate', review({ spec: {} }))).status).toBe(200);
  });

  it('answers any JSON, without a bug', async () => {
    const before = errors.length;
    const json = fc.jsonValue({ maxDepth: 6 });
    const hostile = fc.oneof(json, fc.record({ spec: json }), fc.record({ metadata: json, spec: json }));
    await fc.assert(
      fc.asyncProperty(
        hostile,
        fc.constantFrom('DRWorkflow', 'DRPlan', 'DRPlanExecution'),
        fc.constantFrom('/validate', '/stamp'),
        async (object, kind, path) => {
          const answered = await post(path, review(object, kind));
          expect([200, 400]).toContain(answered.status);
          if (answered.status === 200) expect(response(answered).uid).toBe('u');
        },
      ),
      { numRuns: 300, seed: 4 },
    );
    expect(errors).toHaveLength(before);
  });
});
