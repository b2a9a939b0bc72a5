import type { KindDescriptor } from '../../api/core/kind-descriptor.js';
import type { KubeClient } from '../../kube/client.js';
import { webhookConfigurations } from './configuration.js';
import type { ConfigurationOptions, WebhookConfiguration } from './configuration.js';

/** Registers the webhooks with the API server. */
export interface Registration {
  /**
   * Brings the configurations up to date.
   *
   * @throws Error when it cannot be done
   */
  publish(caBundle: string | undefined): Promise<void>;
}

/** What a registration depends on. */
export interface RegistrationOptions {
  reach: ConfigurationOptions['reach'];
  /** The kinds that there are. */
  kinds: readonly KindDescriptor[];
  /** Finds out the bridge's own user name. */
  account: () => Promise<string>;
}

const FIELD_MANAGER = 'drover-webhook';

/** Keeps whole configurations, so that whatever is changed or removed in them comes back. */
export function ownRegistration(kube: KubeClient, options: RegistrationOptions): Registration {
  return {
    async publish(caBundle) {
      const account = await options.account();
      const wanted = webhookConfigurations(
        { ...options, account, ...(caBundle !== undefined && { caBundle }) },
        options.kinds,
      );
      await Promise.all(
        wanted.map((configuration) =>
          kube.patch(keyOf(configuration), configuration, {
            kind: 'apply',
            force: true,
            fieldManager: FIELD_MANAGER,
          }),
        ),
      );
    },
  };
}

/** Fills authorities into configurations that somebody else keeps, and changes nothing else in them. */
export function foreignRegistration(kube: KubeClient, options: RegistrationOptions): Registration {
  return {
    async publish(caBundle) {
      for (const wanted of webhookConfigurations(
        { ...options, account: await options.account() },
        options.kinds,
      )) {
        const key = keyOf(wanted);
        const present = await kube.get<WebhookConfiguration>(key);
        if (present === undefined) {
          throw new Error(
            `${key.kind} "${key.name}" does not exist; apply deploy/webhook, or let the bridge keep it (webhook-register: true)`,
          );
        }
        if (caBundle === undefined) continue;
        const encoded = Buffer.from(caBundle).toString('base64');
        const operations = present.webhooks.flatMap(({ name, clientConfig }, index) =>
          clientConfig.caBundle === encoded
            ? []
            : [
                // The list of webhooks may have changed by now.
                { op: 'test', path: `/webhooks/${index}/name`, value: name },
                { op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: encoded },
              ],
        );
        if (operations.length === 0) continue;
        await kube.patch(key, operations, { kind: 'json', fieldManager: FIELD_MANAGER });
      }
    },
  };
}

const keyOf = ({ apiVersion = '', kind = '', metadata }: WebhookConfiguration) => ({
  apiVersion,
  kind,
  name: metadata.name,
});
