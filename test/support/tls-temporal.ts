/** The stack's Temporal behind TLS, as a frontend with certificates of its own is reached. */
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { listen } from '../../runtime/listen.js';
import { issueCertificate, makeAuthority, validFor } from '../../runtime/x509.js';
import type { KeyPair, Validity } from '../../runtime/x509.js';
import { servers } from './servers.js';

const DAY_MS = 86_400_000;

/** Where it is, and who may come in. */
export interface TlsTemporal {
  address: string;
  /** Signed the server's certificate, and those of clients. */
  authority: KeyPair;
  /** A certificate that lets a client in, or does not where it is not valid. */
  client(validity?: Validity): Promise<KeyPair>;
  close(): void;
}

/** Asks for a client certificate. */
export async function startTlsTemporal(): Promise<TlsTemporal> {
  const validity = validFor(new Date(), DAY_MS);
  const authority = await makeAuthority('authority of temporal', validity);
  const { cert, key } = await issueCertificate(authority, {
    commonName: 'temporal',
    hosts: ['localhost'],
    usage: ['server'],
    validity,
  });
  const { hostname, port } = new URL(`tcp://${servers.temporal}`);
  const server = createServer(
    { cert, key, ca: authority.cert, requestCert: true, ALPNProtocols: ['h2'] },
    (socket) => {
      const to = connect({ host: hostname, port: Number(port) });
      for (const [from, into] of [
        [socket, to],
        [to, socket],
      ] as const) {
        from.pipe(into);
        from.on('error', () => into.destroy());
        from.on('close', () => into.destroy());
      }
    },
  );
  server.on('tlsClientError', () => undefined);
  await listen(server, { host: '127.0.0.1', port: 0, setting: 'test' });
  return {
    address: `localhost:${(server.address() as AddressInfo).port}`,
    authority,
    client: (asked = validity) =>
      issueCertificate(authority, { commonName: 'drover', usage: ['client'], validity: asked }),
    close: () => server.close(),
  };
}
