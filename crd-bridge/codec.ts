import type { Server } from 'node:http';
import type { DataConverter } from '@temporalio/common';
import { GROUP } from '../api/core/group.js';
import type { KubeClient } from '../kube/client.js';
import { createCodecEndpoint } from '../runtime/encryption/codec-endpoint.js';
import type { Authorize } from '../runtime/encryption/codec-endpoint.js';
import { isEncrypted } from '../runtime/encryption/data-converter.js';
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, config['codec-host'], resolve);
  });
  log.info({ port, origins: config['codec-origins'] }, 'serving the codec endpoint');
  return server;
}

interface TokenReview {
  status?: {
    authenticated?: boolean;
    error?: string;
    user?: { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
  };
}

interface SubjectAccessReview {
  status?: { allowed?: boolean; reason?: string };
}

/** Asks the API server whose token it is and whether that person may decode. */
export function authorizeBy(kube: KubeClient): Authorize {
  return async ({ token }) => {
    if (token === undefined) {
      return { status: 401, message: 'send a token of the cluster: Authorization: Bearer TOKEN' };
    }
    const { status } = await kube.create<TokenReview>({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      metadata: { name: '' },
      spec: { token },
    });
    const user = status?.user;
    // A blank user with groups would be judged by its groups alone.
    if (status?.authenticated !== true || user === undefined || (user.username ?? '').trim() === '') {
      return { status: 401, message: 'the cluster does not know this token' };
    }
    const review = await kube.create<SubjectAccessReview>({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      metadata: { name: '' },
      spec: {
        user: user.username,
        uid: user.uid,
        groups: user.groups?.filter((group) => group.trim() !== ''),
        extra: user.extra,
        resourceAttributes: { group: GROUP, resource: 'drplanexecutions', verb: VERB },
      },
    });
    if (review.status?.allowed === true) return undefined;
    return {
      status: 403,
      message: `"${user.username}" may not ${VERB} drplanexecutions.${GROUP} in all namespaces`,
    };
  };
}
