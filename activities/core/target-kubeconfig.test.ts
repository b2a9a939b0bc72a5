import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { readTargetKubeconfig } from './target-kubeconfig.js';

const pem = Buffer.from('-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n').toString('base64');

interface Parts {
  cluster?: Record<string, unknown>;
  user?: Record<string, unknown>;
  rest?: Record<string, unknown>;
}

const kubeconfig = ({ cluster, user, rest }: Parts = {}): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'b',
    clusters: [
      { name: 'site-a', cluster: { server: 'https://a.example.org', 'proxy-url': 'http://elsewhere' } },
      {
        name: 'site-b',
        cluster: { server: 'https://b.example.org:6443/', 'certificate-authority-data': pem, ...cluster },
      },
    ],
    contexts: [{ name: 'b', context: { cluster: 'site-b', user: 'dr', namespace: 'ignored' } }],
    users: [{ name: 'dr', user: { token: 'secret-token', ...user } }],
    ...rest,
  });

const problem = (parts: Parts): string => {
  const read = readTargetKubeconfig(kubeconfig(parts));
  return read.ok ? 'fine' : read.problem;
};

describe('a kubeconfig of somebody else', () => {
  it('is read with inline data, and only its current context', () => {
    const read = readTargetKubeconfig(kubeconfig({ cluster: { 'tls-server-name': 'kubernetes' } }));
    expect(read).toMatchObject({
      ok: true,
      cluster: {
        name: 'site-b',
        server: new URL('https://b.example.org:6443/'),
        tls: { ca: Buffer.from(pem, 'base64').toString(), servername: 'kubernetes' },
        token: 'secret-token',
      },
    });
    expect(
      readTargetKubeconfig(
        kubeconfig({ user: { token: undefined, 'client-certificate-data': pem, 'client-key-data': pem } }),
      ),
    ).toMatchObject({ ok: true });
  });

  it.each([
    ['user', { exec: { command: '/bin/sh' } }, /user "dr": exec is not allowed: it runs a program/],
    ['user', { 'auth-provider': { name: 'gcp' } }, /auth-provider is not allowed: it needs a plugin/],
    ['user', { tokenFile: '/var/run/token' }, /tokenFile is not allowed: it names a file/],
    ['user', { 'client-certificate': '/c' }, /client-certificate is not allowed: it names a file/],
    ['user', { 'client-key': '/k' }, /client-key is not allowed: it names a file/],
    ['user', { as: 'admin' }, /as is not allowed: it acts as somebody else/],
    ['user', { 'as-groups': ['system:masters'] }, /as-groups is not allowed/],
    ['user', { 'as-uid': '1' }, /as-uid is not allowed/],
    ['user', { 'as-user-extra': {} }, /as-user-extra is not allowed/],
    ['user', { username: 'u', password: 'p' }, /username is not allowed/],
    ['user', { token: 'two words' }, /token is not a bearer token/],
    ['user', { token: undefined }, /has no credentials/],
    ['user', { 'client-certificate-data': pem }, /go together/],
    ['user', { 'client-key-data': 'AAAA' }, /client-key-data is not the base64 of a PEM block/],
    ['cluster', { 'certificate-authority': '/ca' }, /certificate-authority is not allowed: it names a file/],
    ['cluster', { 'insecure-skip-tls-verify': true }, /insecure-skip-tls-verify is not allowed/],
    ['cluster', { 'proxy-url': 'http://proxy' }, /cluster "site-b": proxy-url is not allowed/],
    ['cluster', { surprise: 1 }, /surprise is not allowed; allowed are server/],
    ['cluster', { server: 'http://b.example.org' }, /is not https/],
    ['cluster', { server: 'https://u:p@b.example.org' }, /user name or a password/],
    ['cluster', { server: 'nowhere' }, /is not a URL/],
    ['rest', { 'current-context': 'c' }, /has no context "c"/],
    ['rest', { 'current-context': '' }, /has no current-context/],
    ['rest', { users: [] }, /has no user "dr"/],
    ['rest', { clusters: [] }, /has no cluster "site-b"/],
  ] as const)('is refused with %s %j [S3.54]', (part, fields, message) => {
    expect(problem({ [part]: fields })).toMatch(message);
  });

  it('is refused when it is none, without repeating what it holds', () => {
    const texts = [
      '',
      'hello',
      '[1, 2]',
      'a: [',
      `token: &t secret-token\nagain: [*t, *t]\n`,
      'x'.repeat(300_000),
    ];
    for (const text of texts) {
      const read = readTargetKubeconfig(text);
      expect(read.ok).toBe(false);
      expect(JSON.stringify(read)).not.toContain('secret-token');
    }
  });
});
