import type { AddressInfo } from 'node:net';
import { listen } from '../../../../runtime/listen.js';
import type { CommandContext } from '../context.js';
import { clientDataConverter } from '../encryption.js';
import { EXIT } from '../exit-codes.js';
import { onInterrupt } from '../interrupt.js';

/** Options of `drover codec`. */
export interface CodecOptions {
  port: number;
  origin?: string[];
}

/** Serves the codec endpoint until Ctrl-C. */
export async function codec(context: CommandContext, options: CodecOptions): Promise<number> {
  const converter = await clientDataConverter(context, async () => (await context.openCluster()).kube);
  const [payloadCodec] = converter.payloadCodecs ?? [];
  if (payloadCodec === undefined) throw new Error('a data converter without a codec');
  const origins = options.origin ?? (await embeddedOrigins(context));
  const { createCodecEndpoint } = await import('../../../../runtime/encryption/codec-endpoint.js');
  const server = createCodecEndpoint({
    codec: payloadCodec,
    authorize: () => Promise.resolve(undefined),
    origins,
    loopbackOnly: true,
  });
  await listen(server, { host: '127.0.0.1', port: options.port, setting: '--port' });
  const { port } = server.address() as AddressInfo;
  const { terminal } = context;
  terminal.out(`http://127.0.0.1:${port}`);
  terminal.note(
    origins.length === 0
      ? 'for the temporal command: --codec-endpoint; no Web UI may ask, since no --origin was given'
      : `for the Web UI at ${origins.join(', ')}: enter it under "Codec Server"; for the temporal command: --codec-endpoint`,
  );
  const interrupt = onInterrupt();
  await new Promise<void>((resolve) => {
    interrupt.signal.addEventListener('abort', () => {
      resolve();
    });
  });
  server.close();
  server.closeAllConnections();
  interrupt.dispose();
  return EXIT.ok;
}

/** The Web UI of the data dir, when one is up there. */
async function embeddedOrigins(context: CommandContext): Promise<string[]> {
  const cluster = await context.openCluster().catch(() => undefined);
  const ui = cluster?.embedded?.endpoints.temporalUi;
  if (!ui) return [];
  const { protocol, port } = new URL(ui);
  return ['127.0.0.1', 'localhost'].map((host) => `${protocol}//${host}:${port}`);
}
