import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEgressPolicy } from './egress.js';
import type { EgressOptions, Resolve } from './egress.js';

const server = createServer((_request, response) => response.end('here'));
let port = 0;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

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
  ])('refuses %s [SEC5]', (url, why) => {
    expect(refusal(url)).toContain(why);
  });

  it('never repeats a password', () => {
    expect(refusal('http://user:hunter22@example.com/')).not.toContain('hunter22');
  });

  it.each(['http://10.1.2.3/', 'https://192.168.0.1:8443/', 'http://[fd12::1]/', 'https://example.com/'])(
    'allows %s without a list',
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

  it('goes to the address that was checked', async () => {
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

  it('resolves once, so that a second answer has no say [SEC5]', async () => {
    let calls = 0;
    const rebinding: Resolve = () => {
      calls += 1;
      return Promise.resolve([{ address: calls === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }]);
    };
    expect(await reach('twice.example', rebinding, { allowLoopback: true })).toBe('here');
    expect(calls).toBe(1);
  });

  it("refuses the cluster's own API under any loopback address, even where loopback is allowed [SEC5]", async () => {
    const options = { allowLoopback: true, apiServers: [`https://127.0.0.1:${port}`] };
    expect(await reach('127.0.0.1', loopback, options)).toContain("cluster's own API");
    const other: Resolve = () => Promise.resolve([{ address: '127.0.0.2', family: 4 }]);
    expect(await reach('other.example', other, options)).toContain("cluster's own API");
  });

  it("refuses the cluster's own API when its URL holds a name [SEC5]", async () => {
    const options = { allowLoopback: true, apiServers: [`https://api.internal:${port}`] };
    expect(await reach('innocent.example', loopback, options)).toContain("cluster's own API");
  });
});
