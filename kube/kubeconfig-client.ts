/** Clients for clusters of kubeconfigs. Apart from {@link createEndpointClient}: the kubeconfig library is slow to load. */
import type { AgentOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { Agent } from 'undici';
import { HttpMethod, RequestContext } from './client-node.js';
import type { KubeConfig } from './client-node.js';
import { createEndpointClient } from './client.js';
import type { KubeClient } from './client.js';
import { KEEP_ALIVE_MS } from './certificate-endpoint.js';
import type { Credentials, Endpoint, TransportOptions } from './transport.js';

/** How long headers made by credential plugins are used before the plugins are asked again. */
const CREDENTIALS_TTL_MS = 60_000;

/** A client for the current context of a kubeconfig. */
export function createKubeClient(config: KubeConfig, options?: TransportOptions): KubeClient {
  return createEndpointClient(endpointOf(config), options);
}

/**
 * The current context of a kubeconfig. TLS, tokens, exec plugins and proxies are the kubeconfig library's business.
 *
 * @throws Error when the kubeconfig has no current cluster.
 */
export function endpointOf(config: KubeConfig): Endpoint {
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new Error(
      `kubeconfig has no cluster for its current context "${config.getCurrentContext()}"; set current-context to one of: ${config
        .getContexts()
        .map((context) => context.name)
        .join(', ')}`,
    );
  }
  const server = cluster.server.replace(/\/+$/, '');
  let credentials: (Credentials & { until: number }) | undefined;
  return {
    server,
    async authenticate(renew) {
      if (!renew && credentials !== undefined && credentials.until > Date.now()) return credentials;
      const context = new RequestContext(server, HttpMethod.GET);
      await config.applySecurityAuthentication(context);
      const known = renew ? undefined : credentials;
      credentials = {
        headers: context.getHeaders(),
        // The first dispatcher is kept: it holds the open connections.
        dispatcher: known?.dispatcher ?? (await connectionsOf(config)) ?? context.getDispatcher(),
        until: Date.now() + CREDENTIALS_TTL_MS,
      };
      return credentials;
    },
  };
}

/** Direct connections as the kubeconfig wants them, kept for longer; undefined where a proxy lies between. */
async function connectionsOf(config: KubeConfig): Promise<Dispatcher | undefined> {
  const wanted: AgentOptions = {};
  await config.applyToHTTPSOptions(wanted);
  const options = config.createDispatcherOptions(config.getCurrentCluster(), wanted);
  if (options.type !== 'agent') return undefined;
  const { ca, cert, key, pfx, passphrase, ...connect } = options.connect as AgentOptions;
  const secureContext = createSecureContext({
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(pfx !== undefined && { pfx }),
    ...(passphrase !== undefined && { passphrase }),
  });
  return new Agent({
    connect: { ...connect, secureContext } as Agent.Options['connect'],
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
}
