import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../core/log.js';
import type { CertificateSource, Serving } from './certificate-source.js';
import { validityOf } from './certificates.js';
import type { Validity } from './certificates.js';
import type { Registration } from './registration.js';
import { serveReviews } from './server.js';
import type { ServerOptions, WebhookServer } from './server.js';

/** What the webhook is made of. */
export interface WebhookOptions {
  server: Omit<ServerOptions, 'certificate'>;
  certificates: CertificateSource;
  registration: Registration;
  /** Time between two looks at certificates and configurations, in milliseconds. */
  checkMs: number;
  /** How long API servers are given to learn new authorities before a certificate signed by them is served. */
  spreadMs: number;
  log: Log;
  /** Called with the validity of the certificate that is served; undefined where it cannot be read. */
  onCertificate?: (validity: Validity | undefined) => void;
}

/** A webhook server that looks after itself. */
export interface AdmissionWebhook {
  /** What is missing before reviews are answered; undefined when nothing is. */
  missing(): string | undefined;
  stop(): Promise<void>;
}

const RETRY_MS = 1000;

/**
 * Serves reviews, keeps the certificate fresh and the configurations as they should be. A step that fails is logged and
 * tried again: a bridge without admission still brings executions forward.
 */
export function startWebhook(options: WebhookOptions): AdmissionWebhook {
  const { certificates, registration, log } = options;
  const abort = new AbortController();
  let server: WebhookServer | undefined;
  let served: Serving | undefined;
  let problem: string | undefined = 'admission webhook: starting';

  async function step(): Promise<void> {
    const wanted = await certificates.read();
    if (server === undefined) {
      server = await serveReviews({ ...options.server, certificate: wanted });
      served = wanted;
      options.onCertificate?.(validityOf(wanted.cert));
    }
    await registration.publish(wanted.caBundle);
    if (served?.cert === wanted.cert && served.key === wanted.key) return;
    const isNewAuthority = wanted.caBundle !== undefined && wanted.caBundle !== served?.caBundle;
    if (isNewAuthority && !isExpired(served?.cert))
      await sleep(options.spreadMs, undefined, { signal: abort.signal });
    server.setCertificate(wanted);
    served = wanted;
    options.onCertificate?.(validityOf(wanted.cert));
    log.info({ expires: validityOf(wanted.cert)?.until }, 'admission webhook has a new certificate');
  }

  async function run(): Promise<void> {
    while (!abort.signal.aborted) {
      let pause = options.checkMs;
      try {
        await step();
        problem = undefined;
      } catch (error) {
        if (abort.signal.aborted) return;
        const message = error instanceof Error ? error.message : String(error);
        pause = Math.min(RETRY_MS, pause);
        // Once it serves, only the upkeep can fail: reviews are answered all the same, until the certificate has expired.
        const isServed = server !== undefined && problem === undefined && !isExpired(served?.cert);
        problem = isServed ? undefined : `admission webhook: ${message}`;
        log.warn({ err: error }, `admission webhook cannot be brought up to date: ${message}`);
      }
      await sleep(pause, undefined, { signal: abort.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    missing: () => problem,
    async stop() {
      abort.abort();
      await running;
      await server?.close();
    },
  };
}

function isExpired(cert: string | undefined): boolean {
  const expires = cert === undefined ? undefined : validityOf(cert)?.until;
  return expires === undefined || expires <= new Date();
}
