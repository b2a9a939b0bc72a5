import type { KindDescriptor } from '../../api/core/kind-descriptor.js';
import type { Log } from '../core/log.js';
import type { KubeClient } from '../../kube/client.js';
import { ownNamespace } from '../../kube/own-namespace.js';
import type { Tracing } from '../../runtime/tracing/tracing.js';
import type { BridgeConfig } from '../config.js';
import type { BridgeMetrics } from '../core/metrics.js';
import { certificateFiles, ownCertificates } from './certificate-source.js';
import type { CertificateSource } from './certificate-source.js';
import type { Reach } from './configuration.js';
import { foreignRegistration, ownRegistration } from './registration.js';
import type { Rules } from '../core/review.js';
import { startWebhook } from './webhook.js';
import type { AdmissionWebhook } from './webhook.js';

/** Authorities outlive many serving certificates: about ten years by default. */
const AUTHORITY_LIVES = 40;
const MAX_SPREAD_MS = 5000;

/**
 * Starts the webhook that the configuration asks for.
 *
 * @param parts.kinds the kinds that there are
 * @param parts.rules called only where there is a webhook
 * @returns undefined when the configuration asks for none
 */
export async function setUpWebhook(
  config: BridgeConfig,
  parts: {
    kube: KubeClient;
    log: Log;
    kinds: readonly KindDescriptor[];
    rules: () => Rules;
    metrics: BridgeMetrics;
    tracing: Tracing;
  },
): Promise<AdmissionWebhook | undefined> {
  const port = config['webhook-port'];
  if (port === undefined) return undefined;
  const { kube, log, metrics, tracing } = parts;
  const namespace = await ownNamespace(config.namespace);
  const reach = reachOf(config, namespace);
  const servingMs = config['webhook-certificate-life'];
  const options = { reach, kinds: parts.kinds, account: memoize(() => whoAmI(kube)) };
  return startWebhook({
    server: {
      host: config['webhook-host'],
      port,
      rules: parts.rules(),
      kinds: new Set(parts.kinds.map(({ kind }) => kind)),
      log,
      tracing,
      reviews: metrics.reviews,
      onFailure: (reason) => {
        metrics.reviewFailures.inc({ reason });
      },
    },
    certificates:
      certificatesOf(config, reach) ??
      ownCertificates({
        kube,
        namespace,
        hosts: hostsOf(reach),
        lifetimes: { servingMs, authorityMs: servingMs * AUTHORITY_LIVES },
      }),
    registration: config['webhook-register']
      ? ownRegistration(kube, options)
      : foreignRegistration(kube, options),
    checkMs: Math.min(config['webhook-check'], servingMs / 20),
    spreadMs: Math.min(MAX_SPREAD_MS, servingMs / 10),
    log,
    onCertificate: (validity) => {
      if (validity === undefined) return;
      metrics.certificateStart.set(validity.from.getTime() / 1000);
      metrics.certificateExpiry.set(validity.until.getTime() / 1000);
    },
  });
}

function certificatesOf(config: BridgeConfig, reach: Reach): CertificateSource | undefined {
  const { 'webhook-cert': cert, 'webhook-key': key, 'webhook-ca': ca } = config;
  if (cert === undefined || key === undefined) return undefined;
  const [host = ''] = hostsOf(reach);
  return certificateFiles({ cert, key, ...(ca !== undefined && { ca }) }, { host });
}

function reachOf(config: BridgeConfig, namespace: string): Reach {
  const url = config['webhook-url'];
  if (url !== undefined) return { kind: 'url', url };
  const [name = '', port = '443'] = config['webhook-service'].split(':');
  return { kind: 'service', namespace, name, port: Number(port) };
}

/** Names that the API server may expect in the certificate. */
function hostsOf(reach: Reach): string[] {
  if (reach.kind === 'url') return [new URL(reach.url).hostname.replace(/^\[|\]$/g, '')];
  const host = `${reach.name}.${reach.namespace}.svc`;
  return [host, `${host}.cluster.local`, `${reach.name}.${reach.namespace}`];
}

/** User name under which the API server knows the bridge. */
async function whoAmI(kube: KubeClient): Promise<string> {
  const review = await kube.raw<{ status?: { userInfo?: { username?: string } } }>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  const name = review.status?.userInfo?.username;
  if (name === undefined || name === '') throw new Error('the API server does not say who the bridge is');
  return name;
}

/** Asks until there is an answer, then never again. */
function memoize<T>(ask: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | undefined;
  return () => {
    known ??= ask().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}
