import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { certificateEndpoint } from '../kube/certificate-endpoint.js';
import { createEndpointClient } from '../kube/client.js';
import { CertificateAuthority } from './certificates.js';
import { kubeconfig, parseKubeconfig } from './kubeconfig.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-pki-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('CertificateAuthority', () => {
  it('issues certificates with which client and server trust each other', async () => {
    const ca = await CertificateAuthority.open(folder, 'ca');
    const hosts = ['localhost', '127.0.0.1'];
    const server = await ca.issue({ name: 'server', commonName: 'server', hosts, usage: ['server'] });
    const client = await ca.issue({
      name: 'admin',
      commonName: 'drover:admin',
      organizations: ['system:masters'],
      usage: ['client'],
    });
    let subject: unknown;
    const options = { ...server, ca: ca.certificate, requestCert: true, rejectUnauthorized: true };
    const listener = createServer(options, (request, response) => {
      subject = (request.socket as TLSSocket).getPeerCertificate().subject;
      response.setHeader('connection', 'close').end('"ok"');
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(listener.address() as AddressInfo).port}`;
    const text = kubeconfig({ name: 'x', server: url, ca: ca.certificate, user: 'drover:admin', ...client });
    const kube = createEndpointClient(certificateEndpoint(parseKubeconfig(text)));
    expect(await kube.raw({ method: 'GET', path: '/' })).toBe('ok');
    expect({ ...(subject as object) }).toEqual({ CN: 'drover:admin', O: 'system:masters' });
    await new Promise((resolve) => listener.close(resolve));
  });

  it('gives the same certificates again, and keeps the keys private', async () => {
    const first = await CertificateAuthority.open(folder, 'ca');
    const one = await first.issue({ name: 'a', commonName: 'a', usage: ['client'] });
    const second = await CertificateAuthority.open(folder, 'ca');
    expect(second.certificate).toBe(first.certificate);
    expect(await second.issue({ name: 'a', commonName: 'a', usage: ['client'] })).toEqual(one);
    expect((await stat(join(folder, 'a.key'))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });
});
