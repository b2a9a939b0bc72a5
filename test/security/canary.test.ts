/**
 * A value from a Secret goes through everything that handles Secrets: headers of requests that fail, are redirected and
 * succeed, messages, a Secret that is patched and restored, a Job. Afterwards it is looked for, also in base64, in all
 * that anybody can read: resources, Events, logs of all programs, metrics, raw histories in Temporal, and what Temporal and
 * the command line say of a run.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION, LABELS } from '../../api/core/group.js';
import type { DRPlanExecution } from '../../api/plan/types.js';
import { historyTexts } from '../support/histories.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

const CANARY = `canary-${randomBytes(9).toString('hex')}`;
const FORMS = [CANARY, Buffer.from(CANARY).toString('base64').slice(0, -4), encodeURIComponent(CANARY)];

let stack: Stack;
let recorder: Recorder;
let executions: DRPlanExecution[];
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('canary'), startRecorder()]);
  await stack.create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'token', namespace: stack.namespace },
    stringData: { value: CANARY, url: `${recorder.url}/hook/${CANARY}` },
  });
  const headersFrom = [{ name: 'X-Token', secretKeyRef: { name: 'token', key: 'value' } }];
  const http = (name: string, query: string) => ({
    name,
    type: 'HTTP' as const,
    // The endpoint sends the header's value back: in its answers it must not be seen either.
    http: { url: `${recorder.url}/${name}?${query}`, method: 'POST', headersFrom },
    retryPolicy: { limit: 2, interval: '50ms' },
  });
  await stack.simplePlan(
    'canary',
    [
      http('once', 'echo=x-token'),
      http('twice', 'echo=x-token&fail=1'),
      {
        name: 'tell',
        type: 'Notify',
        notify: {
          type: 'Slack',
          urlFrom: { secretKeyRef: { name: 'token', key: 'url' } },
          template: 'hello',
        },
      },
      {
        name: 'patch',
        type: 'KubernetesResource',
        resource: {
          operation: 'Patch',
          manifest: [
            'apiVersion: v1',
            'kind: Secret',
            `metadata: {name: token, namespace: ${stack.namespace}}`,
            'stringData: {more: plain}',
          ].join('\n'),
        },
        rollback: { type: 'HTTP', http: { url: `${recorder.url}/back?echo=x-token`, headersFrom } },
      },
      {
        name: 'apply',
        type: 'KubernetesResource',
        resource: {
          operation: 'Apply',
          manifest: [
            'apiVersion: v1',
            'kind: Secret',
            `metadata: {name: token, namespace: ${stack.namespace}}`,
            'stringData: {url: changed}',
          ].join('\n'),
        },
      },
      {
        name: 'job',
        type: 'Job',
        job: {
          namespace: stack.namespace,
          template: {
            spec: {
              template: {
                spec: {
                  restartPolicy: 'Never',
                  containers: [
                    {
                      name: 'main',
                      image: 'example.invalid/none',
                      env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'token', key: 'value' } } }],
                    },
                  ],
                },
              },
            },
          },
        },
      },
      { ...http('never', 'echo=x-token&status=500'), retryPolicy: { limit: 0 } },
    ],
    { workflow: { failurePolicy: 'Continue' } },
  );
  const run = await stack.ended(await stack.execute('canary'), 90_000);
  const revert = await stack.ended(await stack.revert(run), 90_000);
  executions = [run, revert];
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

/** Fails with a little of what surrounds the value, never the whole. */
function expectNone(where: string, text: string): void {
  for (const form of FORMS) {
    const at = text.indexOf(form);
    const around = at === -1 ? '' : text.slice(Math.max(0, at - 200), at).replace(/\s+/g, ' ');
    expect(at, `${where} shows the secret after: ${around}`).toBe(-1);
  }
}

describe('a value from a Secret', () => {
  it('was really used, everywhere', () => {
    expect(
      executions[0]?.status?.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses?.map((a) => a.phase),
    ).toEqual(['Succeeded', 'Succeeded', 'Succeeded', 'Succeeded', 'Succeeded', 'Succeeded', 'Failed']);
    expect(executions[1]?.status?.phase).toBe('Succeeded');
    for (const path of ['/once', '/twice', '/never', '/back']) {
      expect(recorder.of(path).at(-1)?.headers['x-token']).toBe(CANARY);
    }
    expect(recorder.of(`/hook/${CANARY}`)).toHaveLength(1);
  });

  it('stands in no resource but the Secrets themselves [SEC9]', async () => {
    for (const [apiVersion, kind] of [
      [API_VERSION, 'DRWorkflow'],
      [API_VERSION, 'DRPlan'],
      [API_VERSION, 'DRPlanExecution'],
      ['apps/v1', 'ControllerRevision'],
      ['events.k8s.io/v1', 'Event'],
      ['batch/v1', 'Job'],
      ['v1', 'ConfigMap'],
    ] as const) {
      const { items } = await stack.kube.list({ apiVersion, kind }, { namespace: stack.namespace });
      expectNone(kind, JSON.stringify(items));
    }
    const { items } = await stack.kube.list(
      { apiVersion: 'v1', kind: 'Secret' },
      { namespace: stack.namespace },
    );
    const holders = items.filter((item) => FORMS.some((form) => JSON.stringify(item).includes(form)));
    // The Secret, and the state before it was changed, which only its readers may read.
    for (const { metadata } of holders) {
      expect(metadata.name === 'token' || metadata.labels?.[LABELS.execution] !== undefined).toBe(true);
    }
  });

  it('stands in no log and no metric [SEC9]', async () => {
    const logs = join(servers.dataDir, 'logs');
    for (const file of await readdir(logs)) expectNone(file, await readFile(join(logs, file), 'utf8'));
    const { metrics } = servers.endpoints;
    for (const address of Object.values(metrics)) {
      if (address === null) continue;
      const url = address.includes('://') ? address : `http://${address}/metrics`;
      expectNone('metrics', await (await request(url)).body.text());
    }
  });

  it(
    'stands in nothing that Temporal lists of a run, and in no report of the command line [SEC9]',
    { timeout: 180_000 },
    async () => {
      for (const execution of executions) {
        const workflowId = execution.status?.temporal?.workflowId ?? '';
        const { raw } = await stack.temporal.workflow.getHandle(workflowId).describe();
        const listed = JSON.stringify(raw, (_, value: unknown) => {
          const bytes = value as { type?: string; data?: number[] } | null;
          return bytes?.type === 'Buffer' ? Buffer.from(bytes.data ?? []).toString('latin1') : value;
        });
        expect(listed).toContain(workflowId);
        expectNone('the list of runs', listed);
      }
      const name = executions[0]?.metadata.name ?? '';
      const reports = await Promise.all(
        [
          ['describe', name],
          ['logs', name],
          ['preflight', 'canary'],
        ].map(async (args) => {
          const { stdout, stderr } = await promisify(execFile)(
            process.execPath,
            ['bin/drover.js', ...args, '-n', stack.namespace, '--data-dir', servers.dataDir],
            { env: { ...process.env, NO_COLOR: '1', KUBECONFIG: '/nowhere' }, maxBuffer: 64 * 1024 * 1024 },
          ).catch((error: unknown) => error as { stdout: string; stderr: string });
          return { args, text: `${stdout}\n${stderr}` };
        }),
      );
      for (const { args, text } of reports) {
        expect(text, args.join(' ')).toContain(
          args[0] === 'describe' || args[0] === 'logs' ? 'twice' : 'canary',
        );
        expectNone(args.join(' '), text.replaceAll(stack.namespace, 'namespace'));
      }
    },
  );

  it('stands in no history [SEC9]', async () => {
    for (const execution of executions) {
      const workflowId = execution.status?.temporal?.workflowId ?? '';
      const text = await historyTexts(stack.temporal, workflowId);
      expect(text).toContain('drPlanExecution');
      expectNone('history', text);
    }
  });
});
