import { type Command, InvalidArgumentError } from 'commander';
import { addExamples, collect, type Perform } from './shared.js';
import type { CodecOptions } from '../work/codec.js';

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
    .action((options: CodecOptions, self: Command) =>
      perform(self, async (context) => (await import('../work/codec.js')).codec(context, options)),
    );
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
