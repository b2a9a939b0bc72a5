import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { policyFor } from '../../api/plan/policy.js';
import type { DRPolicySpec } from '../../api/plan/schema/policy.js';
import { takeSnapshot } from '../../api/plan/snapshot/snapshot.js';
import type { Action, NotifyAction } from '../../api/plan/types.js';
import type { KubeClient } from '../../kube/client.js';
import { createEgressPolicy } from '../core/egress.js';
import type { Attempt } from '../core/handler.js';
import { createHttpHandler } from '../actions/http/http.js';
import { createNotifyHandler } from '../actions/notify/notify.js';
import { ownPlaces } from '../core/own-places.js';
import { preflight } from './preflight.js';
import { NO_PRIOR_STORE } from '../core/prior-store.js';

const NAMESPACE = 'shop';
/** Nothing here asks a cluster. */
const kube = {} as KubeClient;
const egress = createEgressPolicy({
  never: ownPlaces({ temporal: 'temporal.example:7233', workerPorts: [8081], never: [] }),
  apiServers: ['https://10.0.0.1:6443'],
  deny: ['denied.example'],
});

const http = (url: string): Action => ({ name: 'a', type: 'HTTP', http: { url } });
const notify = (block: Partial<NotifyAction>): Action => ({
  name: 'a',
  type: 'Notify',
  notify: { type: 'Webhook', template: 'x', ...block },
});
const mail = (host: string, port?: number): Action =>
  notify({
    type: 'Email',
    subject: 'x',
    email: { host, from: 'a@x.example', to: ['b@x.example'], ...(port !== undefined && { port }) },
  });

async function tried(
  action: Action,
  options: { policies?: DRPolicySpec[]; listsUnknown?: boolean } = {},
): Promise<string> {
  const { policies = [], listsUnknown = false } = options;
  const { snapshot } = takeSnapshot({
    plan: {
      metadata: { name: 'p', namespace: NAMESPACE },
      spec: { stages: [{ name: 's', workflows: [{ workflowRef: { name: 'w' } }] }] },
    },
    execution: {
      metadata: { name: 'e', namespace: NAMESPACE },
      spec: { planRef: 'p', operationType: 'Execute' },
    },
    lookup: (namespace, name) => ({ metadata: { name, namespace }, spec: { actions: [action] } }),
  });
  const [result] = await preflight({
    snapshot,
    namespace: NAMESPACE,
    kube,
    identity: 'the test',
    policy: policyFor(NAMESPACE, policies),
    egress,
    listsUnknown,
    signal: new AbortController().signal,
  });
  return (result?.findings ?? [])
    .map(({ level, reason, message }) => `${level} ${reason}: ${message}`)
    .join('\n');
}

/** What the run would say. */
async function run(action: Action, policies: DRPolicySpec[]): Promise<string> {
  const attempt = {
    action,
    task: {
      name: 'a',
      type: action.type,
      run: { namespace: NAMESPACE, name: 'e', uid: 'u', plan: { name: 'p', namespace: NAMESPACE } },
    },
    scope: { params: {}, planName: 'p', executionName: 'e', operation: 'Execute', outputs: {} },
    key: 'k',
    signal: AbortSignal.timeout(10_000),
    kube,
    policy: policyFor(NAMESPACE, policies),
    priors: NO_PRIOR_STORE,
    log: pino({ level: 'silent' }),
    beforeEffect: () => undefined,
  } as unknown as Attempt;
  const handler = action.type === 'HTTP' ? createHttpHandler(egress) : createNotifyHandler(egress);
  const result = await handler.run(attempt);
  return result.kind === 'failed' ? `${result.reason}: ${result.message}` : result.kind;
}

const HOSTS: DRPolicySpec[] = [{ hosts: ['gslb.example'] }];

describe('an action that goes where the run would refuse it', () => {
  it.each<[string, Action, DRPolicySpec[]]>([
    ['loopback', http('http://127.0.0.1:9000/switch'), []],
    ['loopback, otherwise written', http('http://0x7f.1/switch'), []],
    ['the metadata of clouds', http('http://169.254.169.254/latest'), []],
    ["the cluster's own API", http('https://10.0.0.1:6443/api'), []],
    ["Drover's own endpoint", http('http://temporal.example:7233/'), []],
    ['what is denied', http('https://denied.example/'), []],
    ['what no policy allows', http('https://other.example/'), HOSTS],
    ['loopback, by a message', notify({ url: 'http://[::1]:9000/hook' }), []],
    ['what no policy allows, by a message', notify({ url: 'https://other.example/hook' }), HOSTS],
    ['loopback, by mail', mail('127.0.0.1', 25), []],
    ['what no policy allows, by mail', mail('mail.example'), HOSTS],
  ])('is a problem, in the words of the run: %s [F18]', async (_, action, policies) => {
    const found = await tried(action, { policies });
    expect(found).toMatch(/^problem (Egress|Policy)Refused: .* is not allowed: /);
    expect(found).toBe(`problem ${await run(action, policies)}`);
  });

  it('is a warning where the lists of the workers may allow it, which are not known [F18]', async () => {
    const of = async (action: Action, policies: DRPolicySpec[] = []): Promise<string | undefined> =>
      (await tried(action, { policies, listsUnknown: true })).split(':', 1)[0];
    expect(await of(http('http://127.0.0.1:9000/'))).toBe('warning EgressRefused');
    expect(await of(mail('127.0.0.1', 25))).toBe('warning EgressRefused');
    expect(await of(http('http://temporal.example:7233/'))).toBe('problem EgressRefused');
    expect(await of(http('https://other.example/'), HOSTS)).toBe('problem PolicyRefused');
  });

  it('is none where it may go', async () => {
    for (const action of [
      http('https://gslb.example/switch'),
      notify({ url: 'https://gslb.example/hook' }),
      mail('gslb.example'),
    ]) {
      expect(await tried(action, { policies: HOSTS })).toMatch(/^untried /);
    }
  });
});
