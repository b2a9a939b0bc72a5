import type { BridgeConfig } from '../config.js';
import { setUpWebhook } from './setup.js';
import type { AdmissionWebhook } from './webhook.js';

/** The webhook of a bridge, which cannot be served before the caches are complete. */
export interface DeferredWebhook {
  /** What is missing before reviews are answered; undefined when nothing is, or when no webhook is configured. */
  missing: () => string | undefined;
  /** Starts the webhook if one is configured. */
  start(parts: Parameters<typeof setUpWebhook>[1]): Promise<void>;
  stop(): Promise<void>;
}

/** The webhook that the configuration asks for, not started yet. */
export function deferWebhook(config: BridgeConfig): DeferredWebhook {
  const isConfigured = config['webhook-port'] !== undefined;
  let webhook: AdmissionWebhook | undefined;
  return {
    missing() {
      if (!isConfigured) return undefined;
      return webhook === undefined ? 'admission webhook: not started yet' : webhook.missing();
    },
    async start(parts) {
      webhook = await setUpWebhook(config, parts);
    },
    async stop() {
      await webhook?.stop();
    },
  };
}
