import { X509Certificate } from 'node:crypto';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { renew, validityOf } from './certificates.js';
import type { Material } from './certificates.js';

const HOUR = 3_600_000;
const start = new Date('2030-01-01T00:00:00Z');
const lifetimes = { servingMs: 90 * HOUR, authorityMs: 3600 * HOUR };
const at = (hours: number, hosts = ['127.0.0.1', 'drover-webhook.ns.svc']) => ({
  hosts,
  lifetimes,
  now: new Date(start.getTime() + hours * HOUR),
});
const authorities = ({ caBundle }: Material): number => caBundle.match(/BEGIN/g)?.length ?? 0;
const isTrusted = ({ cert, caBundle }: Material): boolean => {
  const blocks = caBundle.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];
  return blocks.some((ca) => new X509Certificate(cert).verify(new X509Certificate(ca).publicKey));
};

describe('certificates', () => {
  it('are made once and stay until two thirds of their life', async () => {
    const { material: first, changed } = await renew(undefined, at(0));
    expect(changed).toBe(true);
    expect(await renew(first, at(58))).toEqual({ material: first, changed: false });
    const { material: second } = await renew(first, at(62));
    expect(second.cert).not.toBe(first.cert);
    expect(second.caBundle).toBe(first.caBundle);
    expect(validityOf(second.cert)?.until).toEqual(new Date(start.getTime() + (62 + 90) * HOUR));
    expect(isTrusted(second)).toBe(true);
  });

  it('serve TLS to whoever trusts the authority, under every host', async () => {
    const { material } = await renew(undefined, { ...at(0), now: new Date() });
    const server = createServer(material, (_, response) => response.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const get = (servername?: string, ca = material.caBundle): Promise<string> =>
      new Promise((resolve, reject) => {
        request(
          { host: '127.0.0.1', port, ca, ...(servername !== undefined && { servername }) },
          (response) => {
            response.setEncoding('utf8').on('data', resolve);
          },
        )
          .on('error', reject)
          .end();
      });
    expect(await get()).toBe('hello');
    expect(await get('drover-webhook.ns.svc')).toBe('hello');
    await expect(get('elsewhere.ns.svc')).rejects.toThrow(/altname/i);
    const { material: other } = await renew(undefined, { ...at(0), now: new Date() });
    await expect(get(undefined, other.caBundle)).rejects.toThrow(/certificate/);
    server.close();
    server.closeAllConnections();
  });

  it('keep the earlier authority beside a new one, and its serving certificate until that has had its time', async () => {
    let { material } = await renew(undefined, at(0));
    // Renewed again and again, as a bridge does, until the authority has lived two thirds of its life.
    for (let hour = 35; hour <= 2380; hour += 35) ({ material } = await renew(material, at(hour)));
    expect(authorities(material)).toBe(1);
    const before = material;
    ({ material } = await renew(before, at(2402)));
    expect(authorities(material)).toBe(2);
    expect(material.caKey).not.toBe(before.caKey);
    expect(material.cert).toBe(before.cert);
    expect(isTrusted(material)).toBe(true);
    for (let hour = 2415; hour <= 3710; hour += 35) {
      ({ material } = await renew(material, at(hour)));
      expect(isTrusted(material)).toBe(true);
      expect((validityOf(material.cert)?.until.getTime() ?? 0) > start.getTime() + hour * HOUR).toBe(true);
    }
    // The first one has expired.
    expect(authorities(material)).toBe(1);
  });

  it('are made anew when a part is unreadable, does not fit, or is for other hosts', async () => {
    const { material } = await renew(undefined, at(0));
    const { material: other } = await renew(undefined, at(0));
    for (const broken of [
      { ...material, cert: 'nonsense' },
      { ...material, key: other.key },
      { ...material, cert: other.cert, key: other.key },
      { caBundle: '', caKey: '', cert: '', key: '' },
    ]) {
      const { material: healed, changed } = await renew(broken, at(1));
      expect(changed).toBe(true);
      expect(isTrusted(healed)).toBe(true);
    }
    const { material: lost } = await renew({ ...material, caKey: 'nonsense' }, at(1));
    expect(authorities(lost)).toBe(2);
    expect(lost.cert).toBe(material.cert);
    const { material: moved } = await renew(material, at(1, ['::1', 'other.ns.svc']));
    expect(new X509Certificate(moved.cert).checkIP('::1')).toBe('::1');
  });
});
