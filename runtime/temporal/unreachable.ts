/**
 * Why a Temporal cannot be reached: the SDK says "transport error" for nearly everything, so the way there is walked once
 * more, step by step.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import type { TemporalConfig } from './config.js';

const TIMEOUT_MS = 5_000;
const DEFAULT_PORT = 7233;

/** What a client of HTTP/2 says first: the preface, and empty settings. */
const GREETING = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
/** Type of a frame of HTTP/2 that a server says first: its settings. */
const SETTINGS = 4;
/** First byte of a TLS record that is an alert. */
const TLS_ALERT = 0x15;

const SET_CA =
  'set TEMPORAL_TLS_SERVER_CA_CERT_PATH to the authority that has signed it; if it is the right one, somebody else answers there';
const CLIENT_PAIR = 'TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH';

/**
 * Finds out why, in words that end with what to do.
 *
 * @returns undefined where a server of HTTP/2 answers: then it is not the way there
 */
export function explainUnreachable(
  { address, connectionOptions }: Pick<TemporalConfig, 'address' | 'connectionOptions'>,
  timeoutMs = TIMEOUT_MS,
): Promise<string | undefined> {
  const place = placeOf(address);
  const { tls } = connectionOptions;
  if (tls === undefined || tls === null || tls === false)
    return greet(connect(place), 'connect', { explain: explainPlain, timeoutMs, address });
  const { serverNameOverride, serverRootCACertificate: ca, clientCertPair } = tls === true ? {} : tls;
  const servername = serverNameOverride ?? place.host;
  const options = {
    ...place,
    servername,
    ALPNProtocols: ['h2'],
    ...(ca !== undefined && { ca: Buffer.from(ca) }),
    ...(clientCertPair !== undefined && {
      cert: Buffer.from(clientCertPair.crt),
      key: Buffer.from(clientCertPair.key),
    }),
  };
  const explain = (error: NodeJS.ErrnoException | undefined): string | undefined =>
    explainTls(error, { servername, hasClientCertificate: clientCertPair !== undefined });
  return greet(connectTls(options), 'secureConnect', { explain, timeoutMs, address });
}

function placeOf(address: string): { host: string; port: number } {
  const url = new URL(`tcp://${address}`);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
  };
}

/** Says the greeting, and looks what comes back: what a server refuses after a handshake, it says only then. */
function greet(
  socket: Socket | TLSSocket,
  ready: 'connect' | 'secureConnect',
  options: {
    /** @param error undefined: the server has closed the connection, or has answered something else */
    explain: (error: NodeJS.ErrnoException | undefined) => string | undefined;
    timeoutMs: number;
    address: string;
  },
): Promise<string | undefined> {
  const { explain, timeoutMs, address } = options;
  return new Promise((resolve) => {
    const end = (why: string | undefined): void => {
      socket.destroy();
      resolve(why);
    };
    socket.setTimeout(timeoutMs, () => {
      end(
        `nobody answers at ${address} within ${timeoutMs / 1000} s: check TEMPORAL_ADDRESS, and that firewalls and NetworkPolicies let this program out`,
      );
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      end(explainNetwork(error, address) ?? explain(error) ?? error.message);
    });
    socket.once(ready, () => socket.write(GREETING));
    socket.once('data', (data: Buffer) => {
      end(data[3] === SETTINGS && data[0] !== TLS_ALERT ? undefined : explain(undefined));
    });
    socket.once('end', () => {
      end(explain(undefined));
    });
  });
}

function explainNetwork({ code }: NodeJS.ErrnoException, address: string): string | undefined {
  switch (code) {
    case 'ECONNREFUSED':
      return `nobody listens at ${address}: check TEMPORAL_ADDRESS, and that Temporal runs`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name in ${address} is not known here: check TEMPORAL_ADDRESS`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `there is no way to ${address} from here: check TEMPORAL_ADDRESS and the network`;
    default:
      return undefined;
  }
}

/** Of a connection without TLS. */
const explainPlain = (): string =>
  'what answers there speaks TLS, or is no Temporal frontend: set TEMPORAL_TLS=true if it has TLS, else check TEMPORAL_ADDRESS';

function explainTls(
  error: NodeJS.ErrnoException | undefined,
  { servername, hasClientCertificate }: { servername: string; hasClientCertificate: boolean },
): string | undefined {
  const refusesUs = hasClientCertificate
    ? `the server does not accept the client certificate: see that ${CLIENT_PAIR} are a pair that it knows, and that has not expired`
    : `the server wants a client certificate: set ${CLIENT_PAIR}`;
  switch (error?.code) {
    case undefined:
      return error === undefined ? refusesUs : undefined;
    case 'CERT_HAS_EXPIRED':
      return 'the certificate of the server has expired: renew it there';
    case 'CERT_NOT_YET_VALID':
      return 'the certificate of the server is not valid yet: see that the clocks here and there are right';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate of the server is not for "${servername}": set TEMPORAL_TLS_SERVER_NAME to a name that it is for, or correct TEMPORAL_ADDRESS`;
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'CERT_SIGNATURE_FAILURE':
      return `the certificate of the server is signed by no authority that is trusted here: ${SET_CA}`;
    case 'ECONNRESET':
    case 'EPIPE':
      return refusesUs;
    default:
      if (/ALERT/.test(error?.code ?? '')) return refusesUs;
      return /^(EPROTO|ERR_SSL_)/.test(error?.code ?? '')
        ? 'what answers there does not speak TLS: take TEMPORAL_TLS and its certificates away, or correct TEMPORAL_ADDRESS'
        : undefined;
  }
}
