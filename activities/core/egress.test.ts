import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import type { AddressInfo } from 'node:net';
import { Client } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createEgressPolicy } from './egress.js';
import type { EgressOptions } from './egress-rules.js';
import type { Resolve } from './addresses.js';

const server = createServer((_request, response) => response.end('here'));
let port = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());
afterEach(() => {
  vi.useRealTimers();
});

const refusal = (url: string, options: EgressOptions = {}): string | undefined =>
  createEgressPolicy(options).refuse(new URL(url));

/** Requests `host:port` with a name service of the test's own. */
async function reach(host: string, resolve: Resolve, options: EgressOptions = {}): Promise<string> {
  const policy = createEgressPolicy(options, resolve);
  const client = new Client(`http://${host}:${port}`, {
    connect: policy.connector({ insecure: false, onConnect: () => undefined }),
    pipelining: 0,
  });
  try {
    const response = await client.request({ method: 'GET', path: '/' });
    return await response.body.text();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  } finally {
    await client.destroy();
  }
}

describe('addresses that are never reached by default', () => {
  it.each([
    ['http://127.0.0.1/', 'loopback'],
    ['http://127.255.0.9/', 'loopback'],
    ['http://2130706433/', 'loopback'],
    ['http://0177.0.0.1/', 'loopback'],
    ['http://0x7f.1/', 'loopback'],
    ['http://127.1/', 'loopback'],
    ['http://[::1]/', 'loopback'],
    ['http://[::ffff:127.0.0.1]/', 'loopback'],
    ['http://[::127.0.0.1]/', 'loopback'],
    ['http://[64:ff9b::7f00:1]/', 'loopback'],
    ['http://[2002:7f00:1::]/', 'loopback'],
    ['http://[64:ff9b:1::7f00:1]/', 'special'],
    // The address stands elsewhere than at the end.
    ['http://[64:ff9b:1:a9fe:a9:fe00:808:808]/', 'special'],
    ['http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/', 'special'],
    ['http://[::ffff:0:7f00:1]/', 'loopback'],
    ['http://192.31.196.1/', 'special'],
    ['http://169.254.169.254/latest/meta-data', 'link-local'],
    ['http://[::ffff:a9fe:a9fe]/', 'link-local'],
    ['http://2852039166/', 'link-local'],
    ['http://[fe80::1]/', 'link-local'],
    ['http://[fd00:ec2::254]/', 'metadata'],
    ['http://100.100.100.200/', 'metadata'],
    ['http://168.63.129.16/', 'metadata'],
    ['http://0.0.0.0/', 'unspecified'],
    ['http://[::]/', 'unspecified'],
    ['http://0.1.2.3/', 'unspecified'],
    ['http://224.0.0.1/', 'multicast'],
    ['http://255.255.255.255/', 'broadcast'],
    ['http://10.0.0.7:2379/', 'control plane'],
    ['http://10.0.0.7:10250/', 'control plane'],
    ['https://kubernetes.default.svc/', 'own API'],
    ['https://KUBERNETES.default.svc./', 'own API'],
    ['ftp://example.com/', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['http://user:secret@example.com/', 'user name'],
  ])('refuses %s [SEC5] [S1.6]', (url, why) => {
    expect(refusal(url)).toContain(why);
  });

  it('never repeats a password', () => {
    expect(refusal('http://user:hunter22@example.com/')).not.toContain('hunter22');
  });

  it.each(['http://10.1.2.3/', 'https://192.168.0.1:8443/', 'http://[fd12::1]/', 'https://example.com/'])(
    'allows %s without a list [S1.6]',
    (url) => expect(refusal(url)).toBeUndefined(),
  );
});

describe('lists', () => {
  it('limits to names, with wildcards for subdomains only', () => {
    const options = { allow: ['api.example.org', '*.example.net'] };
    expect(refusal('https://api.example.org/', options)).toBeUndefined();
    expect(refusal('https://a.b.example.net/', options)).toBeUndefined();
    expect(refusal('https://example.net/', options)).toContain('allow list');
    expect(refusal('https://evilexample.net/', options)).toContain('allow list');
    expect(refusal('http://10.0.0.1/', options)).toContain('allow list');
  });

  it('lets a CIDR in the allow list reach what is refused otherwise, and nothing beyond it', () => {
    const options = { allow: ['127.0.0.0/8', 'fd00::/8'] };
    expect(refusal('http://127.0.0.1/', options)).toBeUndefined();
    expect(refusal('http://[::ffff:127.0.0.1]/', options)).toBeUndefined();
    expect(refusal('http://10.0.0.1/', options)).toContain('allow list');
    expect(refusal('http://169.254.169.254/', options)).toContain('link-local');
  });

  it('denies before it allows', () => {
    const options = { allow: ['10.0.0.0/8', 'x.example'], deny: ['10.0.0.1', 'x.example'] };
    expect(refusal('http://10.0.0.1/', options)).toContain('deny list');
    expect(refusal('http://x.example/', options)).toContain('deny list');
    expect(refusal('http://10.0.0.2/', options)).toBeUndefined();
  });

  it('says which entry is wrong', () => {
    expect(() => createEgressPolicy({ allow: ['https://x/'] })).toThrow('allow list: "https://x/"');
  });
});

describe('connections', () => {
  const loopback: Resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);

  it('goes to the address that was checked [S1.6]', async () => {
    expect(await reach('site.example', loopback, { allowLoopback: true })).toBe('here');
  });

  it('refuses a name that resolves to loopback [SEC5]', async () => {
    expect(await reach('rebind.example', loopback)).toContain(
      'EgressRefused: rebind.example (127.0.0.1) is a loopback',
    );
  });

  it('refuses a name that resolves to a good and a bad address [SEC5]', async () => {
    const mixed: Resolve = () =>
      Promise.resolve([
        { address: '203.0.114.1', family: 4 },
        { address: '::ffff:127.0.0.1', family: 6 },
      ]);
    expect(await reach('mixed.example', mixed)).toContain('loopback');
  });

  it('resolves once, so that a second answer has no say [SEC5] [S1.6]', async () => {
    let calls = 0;
    const rebinding: Resolve = () => {
      calls += 1;
      return Promise.resolve([{ address: calls === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }]);
    };
    expect(await reach('twice.example', rebinding, { allowLoopback: true })).toBe('here');
    expect(calls).toBe(1);
  });

  it('says what would help only where it would', () => {
    const hint = "in the worker's egress allow list";
    expect(refusal('http://127.0.0.1/')).toContain(`list the address ${hint}`);
    expect(refusal('http://x.example/', { allow: ['y.example'] })).toContain(`list it ${hint}`);
    expect(refusal('http://x.example/', { deny: ['x.example'] })).not.toContain(hint);
    expect(refusal('ftp://x.example/')).not.toContain(hint);
    expect(refusal('http://u:p@x.example/')).not.toContain(hint);
    const never = [{ host: 'x.example', port: 80, what: 'ours' }];
    expect(refusal('http://x.example/', { never })).not.toContain(hint);
  });

  it("refuses the cluster's own API under any loopback address, even where loopback is allowed [SEC5]", async () => {
    const options = { allowLoopback: true, apiServers: [`https://127.0.0.1:${port}`] };
    expect(await reach('127.0.0.1', loopback, options)).toContain("cluster's own API");
    const other: Resolve = () => Promise.resolve([{ address: '127.0.0.2', family: 4 }]);
    expect(await reach('other.example', other, options)).toContain("cluster's own API");
  });

  it("refuses the cluster's own API when its URL holds a name [SEC5] [S1.6]", async () => {
    const options = { allowLoopback: true, apiServers: [`https://api.internal:${port}`] };
    expect(await reach('innocent.example', loopback, options)).toContain("cluster's own API");
  });
});

describe("Drover's own endpoints", () => {
  const everything = ['0.0.0.0/0', '::/0', '*.example', 'temporal', 'localhost'];
  /** Here, elsewhere by address, by name, by block. */
  const never = [
    { host: '127.0.0.1', port: 7233, what: "Temporal's frontend" },
    { host: '10.1.2.3', port: 8233, what: "Temporal's Web UI" },
    { host: 'Temporal.example.', port: 8080, what: "Temporal's Web UI" },
    { host: '*.internal.example', port: 9090, what: 'metrics' },
    { host: '10.244.0.0/16', port: 7243, what: "Temporal's HTTP API" },
    { host: 'fd00::/8', port: 7243, what: "Temporal's HTTP API" },
  ];
  const options: EgressOptions = { allow: everything, allowLoopback: true, never };
  const own = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .map(({ address, family }) => (family === 'IPv6' ? `[${address.split('%')[0]}]` : address));

  it.each([
    'http://127.0.0.1:7233/',
    'http://127.0.0.1:7233',
    'https://127.0.0.1:7233/api/v1/namespaces',
    'http://127.255.0.9:7233/',
    'http://2130706433:7233/',
    'http://0x7f000001:7233/',
    'http://0x7F.1:7233/',
    'http://0177.0.0.1:7233/',
    'http://0177.0x0.1:7233/',
    'http://127.1:7233/',
    'http://１２７.0.0.1:7233/',
    'http://127。0。0。1:7233/',
    'http://0.0.0.0:7233/',
    'http://0:7233/',
    'http://[::]:7233/',
    'http://[::1]:7233/',
    'http://[0:0:0:0:0:0:0:1]:7233/',
    'http://[::ffff:127.0.0.1]:7233/',
    'http://[::ffff:7f00:1]:7233/',
    'http://[::ffff:0:0]:7233/',
    'http://[::127.0.0.1]:7233/',
    'http://[64:ff9b::7f00:1]:7233/',
    'http://[64:ff9b:1::7f00:1]:7233/',
    'http://[2002:7f00:1::]:7233/',
    'http://[::ffff:0:7f00:1]:7233/',
    'http://10.1.2.3:8233/',
    'http://167838211:8233/',
    'http://012.1.2.3:8233/',
    'http://[::ffff:10.1.2.3]:8233/',
    'http://[64:ff9b::a01:203]:8233/',
    'http://temporal.example:8080/',
    'http://TEMPORAL.example:8080/',
    'http://temporal.example.:8080/',
    'http://%74emporal.example:8080/',
    'http://a.internal.example:9090/',
    'http://A.B.internal.example.:9090/',
    'http://10.244.7.7:7243/',
    'http://[fd12::1]:7243/',
    ...own.map((address) => `http://${address}:7233/`),
  ])('%s is refused whatever is allowed [SEC5] [F18]', (url) => {
    expect(refusal(url, options)).toContain('no action reaches what belongs to Drover itself');
  });

  it.each([
    'http://127.0.0.1:7234/',
    'http://10.1.2.4:8233/',
    'http://temporal.example/',
    'http://internal.example:9090/',
    'http://10.245.0.1:7243/',
  ])('%s is none of them [F18]', (url) => expect(refusal(url, options)).toBeUndefined());

  it('are known by the addresses that their names have now, and had a while ago [SEC5] [F18]', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    let answers = true;
    const names: Resolve = (host) => {
      if (host !== 'temporal.example') return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
      return answers
        ? Promise.resolve([{ address: '::ffff:127.0.0.1', family: 6 }])
        : Promise.reject(new Error('no answer'));
    };
    const policy = createEgressPolicy(
      { allow: everything, never: [{ host: 'temporal.example', port, what: "Temporal's frontend" }] },
      names,
    );
    const signal = new AbortController().signal;
    for (const host of ['innocent.example', 'other.example', '127.0.0.2', '0x7f.1', 'localhost', '0']) {
      await expect(policy.connect({ host, port, signal })).rejects.toThrow(/is Temporal's frontend/);
    }
    expect(policy.refuse(new URL(`http://[::1]:${port}`))).toContain("Temporal's frontend");
    answers = false;
    vi.setSystemTime(Date.now() + 60_000);
    await expect(policy.connect({ host: 'late.example', port, signal })).rejects.toThrow(/frontend/);
  });

  it('do not hold anything up while their names cannot be looked up [F18]', async () => {
    const names: Resolve = (host) =>
      host === 'temporal.example'
        ? new Promise(() => undefined)
        : Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    const before = Date.now();
    const never = [{ host: 'temporal.example', port: 7233, what: "Temporal's frontend" }];
    expect(await reach('site.example', names, { allowLoopback: true, never })).toBe('here');
    expect(Date.now() - before).toBeLessThan(3000);
  });

  it('are refused to mail, which may name a host in ways that no URL can [F18]', async () => {
    const policy = createEgressPolicy({ allow: everything, never });
    const { signal } = new AbortController();
    for (const host of ['127.0.0.1', '[::1]', '2130706433', '0x7f.1', '::ffff:127.0.0.1', 'LOCALHOST.']) {
      await expect(policy.connect({ host, port: 7233, signal }), host).rejects.toThrow(
        /belongs to Drover itself/,
      );
    }
  });
});
