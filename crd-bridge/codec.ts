import type { Server } from 'node:http';
import type { DataConverter } from '@temporalio/common';
import { GROUP } from '../api/core/group.js';
import { reviewCaller } from '../kube/caller.js';
import type { KubeClient } from '../kube/client.js';
import { createCodecEndpoint } from '../runtime/encryption/codec-endpoint.js';
import type { Authorize } from '../runtime/encryption/codec-endpoint.js';
import { isEncrypted } from '../runtime/encryption/data-converter.js';
import { listen } from '../runtime/listen.js';
import type { BridgeConfig } from './config.js';
import type { Log } from './core/log.js';

/** Verb, on executions of all namespaces, that people need to see what encrypted payloads hold. */
const VERB = 'decode';

/**
 * Serves the codec endpoint when a port is configured. The caller is identified by a token of the cluster (TokenReview)
 * and must be allowed the verb `decode` on `drplanexecutions` in all namespaces (SubjectAccessReview), since a Temporal
 * payload does not say whose it is.
 *
 * @throws Error when there is a port but no keys
 */
export async function serveCodec(options: {
  config: Pick<BridgeConfig, 'codec-port' | 'codec-host' | 'codec-origins'>;
  dataConverter: DataConverter;
  kube: KubeClient;
  log: Log;
}): Promise<Server | undefined> {
  const { config, dataConverter, kube, log } = options;
  const port = config['codec-port'];
  if (port === undefined) return undefined;
  const [codec] = dataConverter.payloadCodecs ?? [];
  if (codec === undefined || !isEncrypted(dataConverter))
    throw new Error('--codec-port needs --encryption-keys: there is nothing to decode');
  const server = createCodecEndpoint({
    codec,
    authorize: authorizeBy(kube),
    origins: config['codec-origins'],
    loopbackOnly: false,
  });
  await listen(server, { host: config['codec-host'], port, setting: '--codec-port' });
  log.info({ port, origins: config['codec-origins'] }, 'serving the codec endpoint');
  return server;
}

/** Asks the API server whose token it is and whether that person may decode. */
export function authorizeBy(kube: Pick<KubeClient, 'create'>): Authorize {
  return async ({ token }) => {
    const review = await reviewCaller(kube, token, {
      access: { resourceAttributes: { group: GROUP, resource: 'drplanexecutions', verb: VERB } },
      words: `${VERB} drplanexecutions.${GROUP} in all namespaces`,
    });
    return review.kind === 'allowed' ? undefined : review;
  };
}
