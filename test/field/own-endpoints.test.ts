/** No action reaches Temporal or what belongs to Drover, though loopback is allowed here. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Action } from '../../api/plan/types.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { servers } from '../support/servers.js';
import { actionAt, http, openStack } from '../support/stack.js';
import type { Stack } from '../support/stack.js';

let stack: Stack;
let recorder: Recorder;
beforeAll(async () => {
  [stack, recorder] = await Promise.all([openStack('own'), startRecorder()]);
});
afterAll(async () => {
  await recorder.close();
  await stack.close();
});

const once = { retryPolicy: { limit: 0 } };

describe("Drover's own endpoints", () => {
  it('are reached by no action, in whatever way it writes them, redirects and mail included [SEC17] [F18]', async () => {
    const { ports } = JSON.parse(await readFile(join(servers.dataDir, 'state.json'), 'utf8')) as {
      ports: Record<string, number>;
    };
    const port = Number(new URL(servers.endpoints.temporalUi ?? '').port);
    const start = `/api/v1/namespaces/${servers.temporalNamespace}/workflows/forged`;
    const others = Object.entries(ports).filter(([name]) => name !== 'apiserver');
    expect(others.map(([name]) => name)).toEqual(
      expect.arrayContaining([
        'temporal',
        'temporalHttp',
        'temporalUi',
        'bridgeWebhook',
        'workerMetrics',
        'etcd',
      ]),
    );
    const actions: Action[] = [
      ...others.map(([name, at]) => http(name.toLowerCase(), `http://127.0.0.1:${at}${start}`, once)),
      ...[
        'localhost',
        'LOCALHOST.',
        '2130706433',
        '0x7f.1',
        '0177.0.0.1',
        '[::1]',
        '[::ffff:7f00:1]',
        '0.0.0.0',
      ].map((host, index) => http(`spelled-${index}`, `http://${host}:${port}${start}`, once)),
      http('redirected', `${recorder.url}/away?status=307&location=http://127.0.0.2:${port}${start}`, once),
      {
        name: 'told',
        type: 'Notify',
        ...once,
        notify: { type: 'Webhook', url: `http://localhost:${port}${start}`, template: 'x', required: true },
      },
      {
        name: 'mailed',
        type: 'Notify',
        ...once,
        notify: {
          type: 'Email',
          subject: 'x',
          template: 'x',
          required: true,
          email: { host: '0x7f.1', port, security: 'None', from: 'a@example.org', to: ['b@example.org'] },
        },
      },
    ];
    await stack.simplePlan('own', actions, { workflow: { failurePolicy: 'Continue' } });
    const ended = await stack.ended(await stack.execute('own'));
    for (const [index, { name }] of actions.entries()) {
      const status = actionAt(ended, 0, 0, index);
      expect(status, name).toMatchObject({ phase: 'Failed', reason: 'EgressRefused' });
      expect(status?.message, name).toMatch(/no action reaches what belongs to Drover itself/);
      expect(status?.message, name).not.toContain('an administrator can list');
    }
    // Others on this machine are reached as before.
    expect(recorder.of('/away')).toHaveLength(1);
  });
});
