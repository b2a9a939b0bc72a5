/** Where Temporal is, by the standard TEMPORAL_* variables or profile; what is wrong there is said before anybody connects. */
import { loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import type { ClientConfigProfile, ClientConnectConfig } from '@temporalio/envconfig';
import { checkAuthorities, checkPair, readPem } from '../pem.js';
import type { Pem } from '../pem.js';

/** Where Temporal is, and how to get in. */
export interface TemporalConfig {
  /** `HOST:PORT`. */
  address: string;
  namespace: string;
  connectionOptions: ClientConnectConfig['connectionOptions'];
}

/** Address that the SDK uses when none is configured. */
const DEFAULT_ADDRESS = 'localhost:7233';
const DEFAULT_NAMESPACE = 'default';

type Tls = NonNullable<ClientConfigProfile['tls']>;
type Source = NonNullable<Tls['clientCert']>;

const CA = { what: 'the CA of Temporal', variable: 'TEMPORAL_TLS_SERVER_CA_CERT' };
const CERT = { what: 'the client certificate for Temporal', variable: 'TEMPORAL_TLS_CLIENT_CERT' };
const KEY = { what: 'the client key for Temporal', variable: 'TEMPORAL_TLS_CLIENT_KEY' };

/**
 * Reads the configuration, with certificates and keys.
 *
 * @param env default: the process's own
 * @throws Error in one sentence: what is wrong with which variable, and what to do
 */
export function readTemporalConfig(env?: Record<string, string>, now = new Date()): TemporalConfig {
  let profile: ClientConfigProfile;
  try {
    profile = loadClientConfigProfile(env === undefined ? {} : { overrideEnvVars: env });
  } catch (error) {
    throw new Error(
      `the configuration of Temporal cannot be read: ${reasonOf(error)}; correct the TEMPORAL_* variables, or the file of TEMPORAL_CONFIG_FILE`,
      { cause: error },
    );
  }
  if (profile.tls !== undefined && profile.tls.disabled !== true) checkTls(profile.tls, now);
  const { connectionOptions, namespace = DEFAULT_NAMESPACE } = toClientOptions(profile);
  return { address: connectionOptions.address ?? DEFAULT_ADDRESS, namespace, connectionOptions };
}

function checkTls(tls: Tls, now: Date): void {
  const { serverCACert, clientCert, clientKey } = tls;
  if (serverCACert !== undefined) checkAuthorities(read(serverCACert, CA), now);
  if (clientCert === undefined && clientKey === undefined) return;
  if (clientCert === undefined || clientKey === undefined) {
    const [given, other] = clientCert === undefined ? [KEY, CERT] : [CERT, KEY];
    throw new Error(
      `${given.what} (${given.variable}_…) is given without ${other.what}: set ${other.variable}_PATH too, or neither`,
    );
  }
  checkPair(read(clientCert, CERT), read(clientKey, KEY), now);
}

function read(source: Source, { what, variable }: typeof CA): Pem {
  if ('path' in source) return readPem(source.path, `${what} (${variable}_PATH=${source.path})`);
  const text = typeof source.data === 'string' ? source.data : Buffer.from(source.data).toString();
  return { called: `${what} (${variable}_DATA)`, text };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
