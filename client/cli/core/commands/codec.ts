import type { AddressInfo } from 'node:net';
import { type Command, InvalidArgumentError } from 'commander';
import type { CommandContext } from '../context.js';
import { clientDataConverter } from '../encryption.js';
import { EXIT } from '../exit-codes.js';
import { onInterrupt } from '../interrupt.js';
import { addExamples, collect, type Perform } from './shared.js';

interface CodecOptions {
  port: number;
  origin?: string[];
}

const DEFAULT_PORT = 8234;

/** `drover codec`. */
export function addCodec(program: Command, perform: Perform): void {
  const command = program
    .command('codec')
    .summary('let the Temporal Web UI on this machine show encrypted and large payloads')
    .description(
      'Serves a codec endpoint on 127.0.0.1 until it is stopped: the Temporal Web UI and the temporal command on this machine show encrypted payloads through it, and large ones, which are compressed. It has the keys that you may read, so whoever may not read them sees nothing that is encrypted.',
    )
    .option('--port <number>', 'port to listen on', portOf, DEFAULT_PORT)
    .option(
      '--origin <url>',
      "origin of the Web UI whose pages may ask; may be repeated (default: the embedded default's)",
      collect,
    )
    .action((options: CodecOptions, self: Command) => perform(self, (context) => codec(context, options)));
  addExamples(command, [
    [
      'codec --encryption-keys secret:drover-system/drover-encryption --origin https://temporal.example.com',
      'with the keys of an installation',
    ],
    ['codec --encryption-keys ./keys', 'for the embedded default'],
  ]);
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError('expected a port, 0 to 65535.');
}

async function codec(context: CommandContext, options: CodecOptions): Promise<number> {
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
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
