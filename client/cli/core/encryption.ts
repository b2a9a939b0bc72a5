import type { DataConverter } from '@temporalio/common';
import type { KubeClient } from '../../../kube/client.js';
import type { KeySource } from '../../../runtime/encryption/key-ring.js';
import { CliError } from './cli-error.js';
import type { CommandContext } from './context.js';

const SECRET_PREFIX = 'secret:';

/**
 * Where the command line finds the keys of encrypted payloads: `--encryption-keys`, else DROVER_ENCRYPTION_KEYS. A
 * folder, or `secret:NAMESPACE/NAME`: then whoever may read that Secret may read what runs carry.
 *
 * @returns undefined when neither is given
 * @throws CliError when the text makes no sense
 */
export function keySourceOf(
  context: Pick<CommandContext, 'options' | 'environment'>,
  kube: () => Promise<KubeClient>,
): string | KeySource | undefined {
  const text = context.options.encryptionKeys ?? context.environment.env['DROVER_ENCRYPTION_KEYS'];
  if (!text) return undefined;
  if (!text.startsWith(SECRET_PREFIX)) return text;
  const [namespace, name, ...rest] = text.slice(SECRET_PREFIX.length).split('/');
  if (!namespace || !name || rest.length > 0) {
    throw new CliError(`encryption keys "${text}"`, {
      hints: ['give a folder of keys, or secret:NAMESPACE/NAME of a Secret'],
    });
  }
  return async () => {
    const secret = await (
      await kube()
    ).get<{ data?: Record<string, string> }>({
      apiVersion: 'v1',
      kind: 'Secret',
      namespace,
      name,
    });
    if (secret === undefined) throw new CliError(`there is no Secret "${name}" in namespace "${namespace}"`);
    return Object.fromEntries(
      Object.entries(secret.data ?? {}).map(([key, value]) => [
        key,
        Buffer.from(value, 'base64').toString('utf8'),
      ]),
    );
  };
}

/**
 * The data converter of the command line.
 *
 * @throws CliError saying what is wrong with the keys
 */
export async function clientDataConverter(
  context: Pick<CommandContext, 'options' | 'environment' | 'terminal'>,
  kube: () => Promise<KubeClient>,
): Promise<DataConverter> {
  const keys = keySourceOf(context, kube);
  const { createDataConverter } = await import('../../../runtime/encryption/data-converter.js');
  try {
    return await createDataConverter({
      keys,
      onFault: (error) => {
        context.terminal.note(`encryption keys cannot be read again: ${String(error)}`);
      },
    });
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}
