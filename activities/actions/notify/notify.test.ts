import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { policyFor } from '../../../api/plan/policy.js';
import type { NotifyAction } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import { selfSigned } from '../../core/testing/self-signed.js';
import { createEgressPolicy } from '../../core/egress.js';
import type { EgressOptions } from '../../core/egress-rules.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { createNotifyHandler } from './notify.js';
import { signLark } from './notify-message.js';
import { NO_PRIOR_STORE } from '../../core/prior-store.js';

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

interface Seen {
  path: string;
  headers: Record<string, unknown>;
  body: Record<string, unknown>;
}

/** An HTTP server that answers as it is told. */
async function receive(
  answer: { status?: number; body?: string } = {},
): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      seen.push({
        path: request.url ?? '',
        headers: request.headers,
        body: JSON.parse(text) as Record<string, unknown>,
      });
      response.writeHead(answer.status ?? 200).end(answer.body ?? 'ok');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

interface Options {
  secrets?: Record<string, Record<string, string>>;
  params?: Record<string, string>;
  egress?: EgressOptions;
  signal?: AbortSignal;
}

function notify(block: NotifyAction, options: Options = {}): Promise<AttemptResult> {
  const kube = {
    get: ({ name, namespace }: { name: string; namespace: string }) => {
      const data = namespace === 'plans' ? options.secrets?.[name] : undefined;
      if (data === undefined) return Promise.resolve(undefined);
      const encoded = Object.entries(data).map(([key, value]) => [
        key,
        Buffer.from(value).toString('base64'),
      ]);
      return Promise.resolve({ metadata: { name }, data: Object.fromEntries(encoded) as unknown });
    },
  } as unknown as KubeClient;
  const attempt: Attempt = {
    task: {
      name: 'tell',
      run: {
        cluster: 'c1',
        namespace: 'shop',
        name: 'run-1',
        operation: 'Execute',
        runMode: 'Drill',
        plan: { namespace: 'plans', name: 'failover' },
      },
    } as Attempt['task'],
    action: { name: 'tell', type: 'Notify', notify: block },
    scope: {
      params: options.params ?? {},
      planName: 'failover',
      executionName: 'run-1',
      operation: 'Execute',
      outputs: {},
    },
    manager: 'drover',
    key: 'uid/0/0/0/forward/0',
    round: 0,
    signal: options.signal ?? new AbortController().signal,
    deadline: Date.now() + 60_000,
    kube,
    identity: 'the test',
    home: kube,
    priors: NO_PRIOR_STORE,
    isRepeated: false,
    policy: policyFor('p', []),
    log: pino({ level: 'silent' }),
    beforeEffect: () => undefined,
    say: () => undefined,
    remember: () => undefined,
    remembered: undefined,
  };
  return createNotifyHandler(createEgressPolicy(options.egress ?? { allowLoopback: true })).run(attempt);
}

describe('messages over HTTP', () => {
  it('Webhook: what runs, where, and the text; headers from Secrets [S3.56]', async () => {
    const { url, seen } = await receive();
    const result = await notify(
      {
        type: 'Webhook',
        url: `${url}/hook`,
        template: 'switching to {{ .params.site }}',
        headersFrom: [
          { name: 'Authorization', prefix: 'Bearer ', secretKeyRef: { name: 's', key: 'token' } },
        ],
      },
      { params: { site: 'b"}' }, secrets: { s: { token: 'canary-token' } } },
    );
    expect(result).toMatchObject({ kind: 'succeeded' });
    expect(result).not.toHaveProperty('outputs');
    expect(seen[0]).toMatchObject({
      path: '/hook',
      headers: { authorization: 'Bearer canary-token', 'idempotency-key': 'uid/0/0/0/forward/0' },
      body: {
        id: 'uid/0/0/0/forward/0',
        subject: 'Execute of failover: run-1',
        text: 'switching to b"}',
        action: 'tell',
        plan: 'failover',
        execution: 'run-1',
        namespace: 'shop',
        operation: 'Execute',
        runMode: 'Drill',
      },
    });
  });

  it('CloudEvents: one structured event', async () => {
    const { url, seen } = await receive({ status: 202 });
    expect(await notify({ type: 'CloudEvents', url, subject: 'drill' })).toMatchObject({ kind: 'succeeded' });
    expect(seen[0]?.headers['content-type']).toMatch(/^application\/cloudevents\+json/);
    expect(seen[0]?.body).toMatchObject({
      specversion: '1.0',
      id: 'uid/0/0/0/forward/0',
      source: '/clusters/c1/namespaces/shop/drplanexecutions/run-1',
      type: 'com.tencent.bkbcs.dr.notification',
      subject: 'drill',
      datacontenttype: 'application/json',
      data: { plan: 'failover', text: 'Execute of failover: run-1 in namespace shop (Drill)' },
    });
  });

  it('Slack: values cannot mention anybody, and the address is never told', async () => {
    const { url, seen } = await receive({ status: 404, body: 'no_team for T0CANARY/B0CANARY/xyzcanary' });
    const result = await notify(
      {
        type: 'Slack',
        urlFrom: { secretKeyRef: { name: 's', key: 'url' } },
        template: '<https://runbook|runbook> {{ .params.note }}',
      },
      {
        params: { note: '<!channel> & all' },
        secrets: { s: { url: `${url}/services/T0CANARY/B0CANARY/xyzcanary\n` } },
      },
    );
    expect(seen[0]?.body).toEqual({ text: '<https://runbook|runbook> &lt;!channel&gt; &amp; all' });
    expect(seen[0]?.path).toBe('/services/T0CANARY/B0CANARY/xyzcanary');
    expect(result).toMatchObject({ kind: 'failed', reason: 'HTTPStatus' });
    expect(JSON.stringify(result)).not.toContain('CANARY');
    expect(JSON.stringify(result)).not.toContain('xyzcanary');
  });

  it('Lark: signed, and taken only with code 0', async () => {
    // HMAC-SHA256 of nothing with key "1599360473\ndemo", computed with openssl.
    expect(signLark('demo', new Date(1_599_360_473_000))).toEqual({
      timestamp: '1599360473',
      sign: 'l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8=',
    });
    const good = await receive({ body: '{"code":0,"msg":"success"}' });
    const block: NotifyAction = {
      type: 'Lark',
      urlFrom: { secretKeyRef: { name: 's', key: 'url' } },
      signingSecretRef: { name: 's', key: 'sign' },
      template: 'to {{ .params.site }}',
    };
    const secrets = (url: string) => ({ s: { url: `${url}/hook/canary-hook`, sign: 'canary-sign' } });
    const params = { site: '<at user_id="all">' };
    expect(await notify(block, { params, secrets: secrets(good.url) })).toMatchObject({ kind: 'succeeded' });
    const [sent] = good.seen;
    expect(sent?.body).toMatchObject({ msg_type: 'text', content: { text: 'to ‹at user_id="all"›' } });
    const at = new Date(Number(sent?.body.timestamp) * 1000);
    expect(sent?.body.sign).toBe(signLark('canary-sign', at).sign);

    const bad = await receive({ body: '{"code":19021,"msg":"sign match fail"}' });
    const refused = await notify(block, { params, secrets: secrets(bad.url) });
    expect(refused).toMatchObject({
      kind: 'failed',
      reason: 'LarkRefused',
      message: expect.stringContaining('sign match fail'),
    });
    expect(JSON.stringify(refused)).not.toContain('canary');
    const busy = await receive({ body: '{"code":11232,"msg":"too many request"}' });
    expect(await notify(block, { params, secrets: secrets(busy.url) })).toMatchObject({ kind: 'retry' });
  });

  it('are retried when the receiver is down, and never leave the egress policy', async () => {
    expect(await notify({ type: 'Webhook', url: 'http://127.0.0.1:1/' })).toMatchObject({
      kind: 'retry',
      reason: 'Unreachable',
    });
    expect(await notify({ type: 'Webhook', url: 'http://127.0.0.1:1/' }, { egress: {} })).toMatchObject({
      kind: 'failed',
      reason: 'EgressRefused',
    });
  });

  it('go to no URL that carries a password, and never show it [F15]', async () => {
    const { url, seen } = await receive();
    const host = new URL(url).host;
    const ref = { secretKeyRef: { name: 's', key: 'url' } };
    const inSecret = await notify(
      { type: 'Webhook', urlFrom: ref },
      { secrets: { s: { url: `http://admin:canary@${host}/` } } },
    );
    expect(inSecret).toMatchObject({ kind: 'failed', reason: 'InvalidURL' });
    expect(JSON.stringify(inSecret)).not.toContain('canary');
    const rendered = { type: 'Webhook', url: 'http://{{ .params.at }}/' } as const;
    await expect(notify(rendered, { params: { at: `admin:canary@${host}` } })).rejects.toMatchObject({
      reason: 'InvalidURL',
      message: expect.not.stringContaining('canary'),
    });
    expect(seen).toEqual([]);
  });

  it('say which Secret is missing', async () => {
    expect(
      await notify({ type: 'Slack', urlFrom: { secretKeyRef: { name: 's', key: 'url' } } }),
    ).toMatchObject({
      reason: 'SecretNotFound',
      message: 'Secret plans/s, which notify.urlFrom names, does not exist; create it',
    });
    const secrets = { s: { url: 'canary' } };
    expect(
      await notify({ type: 'Slack', urlFrom: { secretKeyRef: { name: 's', key: 'url' } } }, { secrets }),
    ).toMatchObject({
      reason: 'InvalidURL',
      message: 'key "url" of Secret plans/s is no URL',
    });
  });
});

interface SmtpServer {
  port: number;
  mails: string[];
  logins: string[];
}

/** As much of SMTP as a client needs: greeting, STARTTLS, PLAIN login, one mail. */
async function smtp(
  options: { tls?: { key: string; cert: string }; refuse?: { command: string; answer: string } } = {},
): Promise<SmtpServer> {
  const state: SmtpServer = { port: 0, mails: [], logins: [] };
  const talk = (socket: Socket, secure: boolean): void => {
    let data: string | undefined;
    let rest = '';
    const say = (line: string): void => void socket.write(`${line}\r\n`);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (data !== undefined) {
          if (line === '.') {
            state.mails.push(data);
            data = undefined;
            say('250 2.0.0 queued');
          } else data += `${line}\n`;
          continue;
        }
        const command = line.split(' ')[0]?.toUpperCase() ?? '';
        if (options.refuse?.command === command) say(options.refuse.answer);
        else if (command === 'EHLO') {
          const offers = secure || options.tls === undefined ? ['AUTH PLAIN'] : ['STARTTLS'];
          say(`250-test\r\n250 ${offers.join(' ')}`);
        } else if (command === 'STARTTLS' && options.tls === undefined) say('502 not here');
        else if (command === 'STARTTLS') {
          say('220 go');
          socket.removeAllListeners('data');
          talk(new TLSSocket(socket, { isServer: true, ...options.tls }), true);
          return;
        } else if (command === 'AUTH') {
          state.logins.push(Buffer.from(line.split(' ')[2] ?? '', 'base64').toString());
          say('235 welcome');
        } else if (command === 'DATA') {
          data = '';
          say('354 go on');
        } else say(command === 'QUIT' ? '221 bye' : '250 fine');
      }
    });
    if (!secure) say('220 test ready');
  };
  const server = createTcpServer((socket) => talk(socket, false));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  state.port = (server.address() as AddressInfo).port;
  return state;
}

const emailTo = (
  port: number,
  more: Partial<NonNullable<NotifyAction['email']>> = {},
  rest: Partial<NotifyAction> = {},
): NotifyAction => ({
  type: 'Email',
  subject: 'Failover of {{ .params.site }}',
  template: 'Line one\n.\nto {{ .params.site }} ✓',
  email: {
    host: '127.0.0.1',
    port,
    security: 'None',
    from: 'Drover <dr@example.org>',
    to: ['ops@example.org', '{{ .params.who }}'],
    ...more,
  },
  ...rest,
});
const params = { site: 'b', who: 'boss@example.org' };

describe('e-mail', () => {
  it('is sent as text, with an id that stays the same for every attempt', async () => {
    const server = await smtp();
    expect(await notify(emailTo(server.port), { params })).toMatchObject({
      kind: 'succeeded',
      message: `the e-mail by 127.0.0.1:${server.port} was taken for 2 receivers`,
    });
    await notify(emailTo(server.port), { params });
    const [first = '', second = ''] = server.mails;
    expect(first).toContain('Subject: Failover of b');
    expect(first).toContain('To: ops@example.org, boss@example.org');
    const id = /^Message-ID: .+$/m.exec(first)?.[0];
    expect(id).toMatch(/@drover\.invalid>/);
    expect(second).toContain(id);
  });

  it('insists on StartTLS and a trusted certificate, and only then logs in', async () => {
    const server = await smtp({ tls: await selfSigned() });
    const secrets = { s: { username: 'dr', password: 'canary-password' } };
    const block = emailTo(server.port, { security: 'StartTLS', credentialsSecretRef: { name: 's' } });
    const refused = await notify(block, { params, secrets });
    expect(refused).toMatchObject({ kind: 'failed', reason: 'TLSError' });
    expect(server.logins).toEqual([]);
    expect(await notify({ ...block, insecureSkipVerify: true }, { params, secrets })).toMatchObject({
      kind: 'succeeded',
    });
    expect(server.logins).toEqual(['\0dr\0canary-password']);

    const plain = await smtp();
    const stripped = emailTo(plain.port, { security: 'StartTLS', credentialsSecretRef: { name: 's' } });
    expect(await notify(stripped, { params, secrets })).toMatchObject({ kind: 'failed', reason: 'TLSError' });
    expect(plain.logins).toEqual([]);
  });

  it('says so and ends when the port does not speak TLS [F15]', async () => {
    const plain = await smtp();
    expect(await notify(emailTo(plain.port, { security: 'TLS' }), { params })).toMatchObject({
      kind: 'failed',
      reason: 'TLSError',
      message: expect.stringMatching(/does not speak TLS on this port; use security StartTLS/),
    });
  });

  it('tells a refusal for good from one for now, without the password', async () => {
    const secrets = { s: { username: 'dr', password: 'canary-password' } };
    const login = await smtp({ refuse: { command: 'AUTH', answer: '535 no such canary-password' } });
    const refused = await notify(emailTo(login.port, { credentialsSecretRef: { name: 's' } }), {
      params,
      secrets,
    });
    expect(refused).toMatchObject({ kind: 'failed', reason: 'LoginRefused' });
    expect(JSON.stringify(refused)).not.toContain('canary-password');
    const busy = await smtp({ refuse: { command: 'MAIL', answer: '451 try later' } });
    expect(await notify(emailTo(busy.port), { params })).toMatchObject({
      kind: 'retry',
      reason: 'MailRefused',
    });
    const never = await smtp({ refuse: { command: 'MAIL', answer: '550 no' } });
    expect(await notify(emailTo(never.port), { params })).toMatchObject({
      kind: 'failed',
      reason: 'MailRefused',
    });
    expect(await notify(emailTo(1), { params })).toMatchObject({ kind: 'retry', reason: 'Unreachable' });
  });

  it('obeys the egress policy, takes no line ends into addresses, and stops with the attempt', async () => {
    expect(await notify(emailTo(25), { params, egress: {} })).toMatchObject({ reason: 'EgressRefused' });
    const sly = { site: 'b', who: 'a@b.c\r\nBcc: all@example.org' };
    expect(await notify(emailTo(25), { params: sly })).toMatchObject({ reason: 'InvalidAddress' });
    const silent = createTcpServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    open.push(silent);
    const { port } = silent.address() as AddressInfo;
    const began = Date.now();
    const result = await notify(emailTo(port), { params, signal: AbortSignal.timeout(300) });
    expect(result).toMatchObject({ kind: 'interrupted' });
    expect(Date.now() - began).toBeLessThan(2000);
  });
});
