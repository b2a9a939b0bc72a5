import { readTraceSettings } from './trace-settings.js';
import { NO_TRACING } from './tracing.js';
import type { Tracing } from './tracing.js';

/**
 * Traces of a program, as the standard `OTEL_*` variables ask for them; or all that is wrong with what they ask.
 *
 * @param options.program what traces call it, such as `drover-worker`, unless the variables name it otherwise
 * @param options.onTrouble called, at most once a minute, with why spans cannot be sent
 */
export async function openTracing(options: {
  program: string;
  env: Readonly<Record<string, string | undefined>>;
  onTrouble: (message: string) => void;
}): Promise<{ kind: 'open'; tracing: Tracing } | { kind: 'invalid'; problems: string[] }> {
  const { program, env, onTrouble } = options;
  const settings = readTraceSettings(env);
  switch (settings.kind) {
    case 'invalid':
      return settings;
    case 'off':
      return { kind: 'open', tracing: NO_TRACING };
    case 'on': {
      // Only here: where traces are off, nothing of OpenTelemetry's SDK is read.
      const { createTracing } = await import('./otel.js');
      return {
        kind: 'open',
        tracing: await createTracing({ program, protocol: settings.protocol, onTrouble }),
      };
    }
  }
}
