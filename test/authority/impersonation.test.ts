/** Whom actions act as: an account without rights may do nothing, whatever lies between worker and API server. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { request } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEgressPolicy } from '../../activities/core/egress.js';
import { createActivities } from '../../activities/index.js';
import type { Action } from '../../api/plan/types.js';
import { createEndpointClient } from '../../kube/client.js';
import type { KubeClient } from '../../kube/client.js';
import { loadKubeConfig } from '../../kube/config.js';
import { endpointOf } from '../../kube/kubeconfig-client.js';
import type { ActionOutcome, ActionTask } from '../../workflows/plan/contract-tasks.js';
import { createAccount } from '../support/accounts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';
import { ownSealer, sealTask } from '../support/seals.js';

let stack: Stack;
let recorder: Recorder;
let proxy: Server;
let dropping = false;
let through: KubeClient;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('impersonation'), startRecorder()]);
  const { kube, namespace } = stack;
  await createAccount(kube, { namespace, name: 'powerless' }, []);
  await createAccount(kube, { namespace, name: 'reader' }, [
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['credentials'], verbs: ['get'] },
  ]);
  await kube.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'credentials', namespace },
    stringData: { token: 'canary-of-the-secret' },
  });
  proxy = await startProxy();
  const server = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  through = createEndpointClient({
    server,
    authenticate: () => Promise.resolve({ headers: {}, dispatcher: undefined }),
  });
});
afterAll(async () => {
  proxy.close();
  await recorder.close();
  await stack.close();
});

/** A gateway with an administrator's credentials of its own; it may drop what it does not know. */
async function startProxy(): Promise<Server> {
  const endpoint = endpointOf(loadKubeConfig({ file: servers.kubeconfig }));
  const forwarded = ({ host: _, connection: __, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders =>
    Object.fromEntries(
      Object.entries(headers).filter(([name]) => !(dropping && name.startsWith('impersonate-'))),
    );
  const server = createServer((incoming, answer) => {
    void (async () => {
      const { headers, dispatcher } = await endpoint.authenticate(false);
      const hasBody = incoming.method !== 'GET' && incoming.method !== 'DELETE';
      const response = await request(`${endpoint.server}${incoming.url ?? ''}`, {
        method: incoming.method as 'GET',
        headers: { ...forwarded(incoming.headers), ...headers },
        ...(hasBody && { body: incoming }),
        ...(dispatcher !== undefined && { dispatcher }),
      });
      answer.writeHead(response.statusCode, { 'content-type': 'application/json' });
      response.body.pipe(answer);
    })().catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function act(
  account: string,
  action: Action,
  options: { controllerIdentity?: boolean } = {},
): Promise<ActionOutcome> {
  const { namespace } = stack;
  const sealer = ownSealer();
  const activities = createActivities({
    kube: through,
    sealer,
    egress: createEgressPolicy({ allowLoopback: true }),
    log: pino({ level: 'silent' }),
    notes: { send: () => undefined },
    controllerIdentity: options.controllerIdentity ?? false,
  });
  const task: ActionTask = {
    run: {
      cluster: 'test',
      namespace,
      name: 'run',
      uid: 'b7a2a6fc-8a30-4f9b-9d3b-0f3ac8a5b2c1',
      plan: { name: 'plan', namespace, uid: 'u' },
      operation: 'Execute',
      runMode: 'Planned',
      serviceAccountName: account,
      snapshot: { name: 'none', namespace, digest: '', parts: 0 },
    },
    at: { stage: 0, workflow: 0, action: 0 },
    direction: 'forward',
    round: 0,
    name: action.name,
    type: action.type as ActionTask['type'],
    timeoutMs: 10_000,
    retry: { limit: 0, intervalMs: 10, backoffMultiplier: 1, maxIntervalMs: 10 },
    body: { action, params: {}, manager: '0123456789ab' },
    outputs: {},
    phases: {},
  };
  const run = action.type === 'HTTP' ? activities.http : activities.kubernetesResource;
  const environment = new MockActivityEnvironment({
    scheduledTimestampMs: Date.now(),
    workflowExecution: { workflowId: 'own', runId: 'r' },
  });
  const outcome: ActionOutcome = await environment.run(run, sealTask(sealer, task, 'own'));
  return outcome;
}

const create = (name: string): Action => ({
  name: 'create',
  type: 'KubernetesResource',
  resource: {
    operation: 'Create',
    manifest: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }),
  },
});
const read = (name: string) =>
  stack.kube.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace: stack.namespace, name });
const call = (path: string, name: string): Action => ({
  name: 'call',
  type: 'HTTP',
  http: {
    url: `${recorder.url}/${path}`,
    method: 'POST',
    headersFrom: [{ name: 'authorization', secretKeyRef: { name, key: 'token' } }],
  },
});

it('an account without rights may do nothing [SEC2]', async () => {
  expect(await act('powerless', create('made'))).toMatchObject({
    phase: 'Failed',
    reason: 'Forbidden',
    message: expect.stringContaining(`system:serviceaccount:${stack.namespace}:powerless`),
  });
  expect(await read('made')).toBeUndefined();
});

it('nothing is done when impersonation is lost on the way [SEC1]', async () => {
  dropping = true;
  try {
    expect(await act('powerless', create('lost'))).toMatchObject({
      phase: 'Failed',
      reason: 'ImpersonationLost',
      effect: 'None',
    });
  } finally {
    dropping = false;
  }
  expect(await read('lost')).toBeUndefined();
});

it.each(['', ' ', 'a b', 'default:default'])(
  'nothing is done for an account called %j, even where the controller may act itself [SEC1]',
  async (account) => {
    const outcome = await act(account, create('odd'), { controllerIdentity: true });
    expect(outcome).toMatchObject({ phase: 'Failed', reason: 'NoServiceAccount', effect: 'None' });
    expect(await read('odd')).toBeUndefined();
  },
);

it('Secrets that an action names are read as the account [SEC2]', async () => {
  const refused = await act('powerless', call('refused', 'credentials'));
  expect(refused).toMatchObject({ phase: 'Failed', reason: 'Forbidden', effect: 'None' });
  expect(recorder.of('/refused')).toHaveLength(0);
  expect(await act('reader', call('read', 'credentials'))).toMatchObject({ phase: 'Succeeded' });
  expect(await act('reader', call('other', 'other'))).toMatchObject({ phase: 'Failed', reason: 'Forbidden' });
});
