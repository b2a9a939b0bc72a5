/**
 * An installation that encrypts: a canary goes in as a parameter, a secret header, a body and an answer, and the raw
 * histories in Temporal, read without keys, hold none of it; with the keys everything can be read.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import type { KubeClient } from '../../kube/client.js';
import { loadKubeConfig } from '../../kube/config.js';
import { down, up } from '../../local/index.js';
import type { UpOptions, UpResult } from '../../local/index.js';
import { freePort } from '../../runtime/free-port.js';
import { historyTexts } from '../support/histories.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { poll } from '../support/stack.js';

const run = promisify(execFile);
const CANARY = `canary${randomBytes(6).toString('hex')}`;

let options: UpOptions;
let result: UpResult;
let kube: KubeClient;
let recorder: Recorder;
let keys: string;
let codecUrl: string;
let execution: DRPlanExecution;

beforeAll(async () => {
  const root = await mkdtemp(join(tmpdir(), 'drover-encrypted-'));
  keys = join(root, 'keys');
  await mkdir(keys);
  await writeFile(join(keys, 'first'), `${randomBytes(32).toString('base64')}\n`);
  const codecPort = await freePort();
  codecUrl = `http://127.0.0.1:${codecPort}`;
  const env = { DROVER_ENCRYPTION_KEYS: keys };
  options = {
    dataDir: join(root, 'data'),
    ephemeral: true,
    crdDir: 'deploy/crds',
    bridge: {
      command: process.execPath,
      args: ['dist/programs/crd-bridge.js'],
      env: { ...env, DROVER_CODEC_PORT: String(codecPort) },
    },
    worker: { command: process.execPath, args: ['dist/programs/worker.js'], env },
    progress: () => undefined,
  };
  [result, recorder] = await Promise.all([up(options), startRecorder()]);
  kube = createKubeClient(loadKubeConfig({ file: result.kubeconfig }));
  execution = await runPlan();
});
afterAll(async () => {
  await Promise.all([down(options), recorder.close()]);
  await rm(join(options.dataDir, '..'), { recursive: true, force: true });
});

const dr = (kind: string, name: string, spec: unknown) => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name, namespace: 'default' },
  spec,
});

/** A run with the canary in a parameter, a header, a body, and an answer that fails twice before. */
async function runPlan(): Promise<DRPlanExecution> {
  await kube.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'token', namespace: 'default' },
    stringData: { value: CANARY },
  });
  await kube.create(
    dr('DRWorkflow', 'sealed', {
      parameters: [{ name: 'word' }],
      actions: [
        {
          name: 'call',
          type: 'HTTP',
          http: {
            url: `${recorder.url}/sealed?fail=2&body={{ .params.word }}`,
            method: 'POST',
            headersFrom: [{ name: 'X-Token', secretKeyRef: { name: 'token', key: 'value' } }],
            body: '{"word": "{{ .params.word }}"}',
          },
          retryPolicy: { limit: 3, interval: '100ms' },
        },
      ],
    }),
  );
  await kube.create(
    dr('DRPlan', 'sealed', {
      globalParams: [{ name: 'word', value: CANARY }],
      stages: [{ name: 'stage', workflows: [{ workflowRef: { name: 'sealed' } }] }],
    }),
  );
  await kube.create(dr('DRPlanExecution', 'sealed-run', { planRef: 'sealed', operationType: 'Execute' }));
  return poll(
    async () =>
      (await kube.get<DRPlanExecution>({
        apiVersion: API_VERSION,
        kind: 'DRPlanExecution',
        namespace: 'default',
        name: 'sealed-run',
      }))!,
    ({ status }) => status?.completionTime !== undefined,
  );
}

/** What can be read in Temporal without keys. */
async function histories(): Promise<string> {
  const connection = await Connection.connect({ address: result.endpoints.temporal });
  try {
    const client = new Client({ connection, namespace: result.endpoints.temporalNamespace });
    return await historyTexts(client, execution.status?.temporal?.workflowId ?? '');
  } finally {
    await connection.close();
  }
}

const drover = (args: string[], env: Record<string, string> = {}) =>
  run(process.execPath, ['bin/drover.js', ...args, '--data-dir', options.dataDir], {
    env: { ...process.env, ...env },
  });

describe('an installation that encrypts', () => {
  it('runs plans, and sends what they say', () => {
    expect(execution.status?.phase).toBe('Succeeded');
    expect(recorder.requests).toHaveLength(3);
    expect(recorder.requests[2]).toMatchObject({ body: `{"word": "${CANARY}"}` });
  });

  it('leaves nothing readable in the histories but types, search attributes and times [SEC9]', async () => {
    const text = await histories();
    expect(text).toContain('binary/encrypted');
    expect(text).not.toContain(CANARY);
    expect(text).not.toMatch(/"phase"|"actions"|Idempotency/);
  });

  it('shows the attempts and why they failed to those who have the keys', async () => {
    const without = await drover(['logs', 'sealed-run']);
    expect(without.stdout).not.toMatch(/call.*503/);
    const { stdout } = await drover(['logs', 'sealed-run'], { DROVER_ENCRYPTION_KEYS: keys });
    expect(stdout).toMatch(/http call +attempt 3.*503/);
  });

  it('opens payloads at the codec endpoint for those the cluster allows to', async () => {
    const [sealed] = await sealedPayloads();
    const ask = async (token?: string) => {
      const answer = await request(`${codecUrl}/decode`, {
        method: 'POST',
        body: JSON.stringify({ payloads: [sealed] }),
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      return { status: answer.statusCode, text: await answer.body.text() };
    };
    expect((await ask()).status).toBe(401);
    expect((await ask('nonsense')).status).toBe(401);
    await kube.create({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'auditor', namespace: 'default' },
    });
    const token = await kube.raw<{ status: { token: string } }>({
      method: 'POST',
      path: '/api/v1/namespaces/default/serviceaccounts/auditor/token',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    });
    expect(await ask(token.status.token)).toMatchObject({
      status: 403,
      text: expect.stringContaining(
        '"system:serviceaccount:default:auditor" may not decode drplanexecutions',
      ),
    });
    await kube.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'decoder' },
      rules: [{ apiGroups: ['dr.bkbcs.tencent.com'], resources: ['drplanexecutions'], verbs: ['decode'] }],
    });
    await kube.create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'decoder' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'decoder' },
      subjects: [{ kind: 'ServiceAccount', name: 'auditor', namespace: 'default' }],
    });
    const allowed = await poll(
      () => ask(token.status.token),
      ({ status }) => status === 200,
    );
    const { payloads } = JSON.parse(allowed.text) as { payloads: { data: string }[] };
    expect(Buffer.from(payloads[0]!.data, 'base64').toString()).toContain(CANARY);
  });

  it('stops rather than write in the clear when its keys are no good', async () => {
    await writeFile(join(keys, 'second'), 'not a key\n');
    const failed = await run(process.execPath, ['dist/programs/worker.js'], {
      env: {
        ...process.env,
        DROVER_KUBECONFIG: result.kubeconfig,
        TEMPORAL_ADDRESS: result.endpoints.temporal,
        DROVER_ENCRYPTION_KEYS: keys,
      },
    }).catch((error: unknown) => error as { stdout: string; code: number });
    expect(failed).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('key \\"second\\" is not 32 bytes in base64'),
    });
    await rm(join(keys, 'second'));
  });
});

/** The input of the stage, as the Web UI would send it to a codec. */
async function sealedPayloads(): Promise<{ metadata: Record<string, string>; data: string }[]> {
  const connection = await Connection.connect({ address: result.endpoints.temporal });
  try {
    const client = new Client({ connection, namespace: result.endpoints.temporalNamespace });
    const { workflowId = '' } = execution.status?.temporal ?? {};
    const { events } = await client.workflow.getHandle(`${workflowId}/s0`).fetchHistory();
    const payloads = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    return payloads.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
      ),
      data: Buffer.from(data ?? []).toString('base64'),
    }));
  } finally {
    await connection.close();
  }
}
