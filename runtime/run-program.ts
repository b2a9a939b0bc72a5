import type { Logger } from 'pino';
import { createLog } from './log.js';
import type { Option, OptionTable, OptionValues, Program } from './options/option.js';
import { readOptions } from './options/read-options.js';
import { openTracing } from './tracing/open-tracing.js';
import { traceFields } from './tracing/trace-fields.js';
import type { Tracing } from './tracing/tracing.js';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** What a program runs with. */
export interface ProgramContext<V> {
  config: V;
  log: Logger;
  /** As the standard `OTEL_*` variables ask for it. */
  tracing: Tracing;
  /**
   * Call it once there is something to stop: until then SIGTERM and SIGINT end the process at once.
   *
   * @returns resolves when the process is told to stop
   */
  stopped: () => Promise<void>;
}

/** What is needed of a process. */
export type ProgramProcess = Pick<NodeJS.Process, 'argv' | 'env' | 'exit' | 'off' | 'once'> & {
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
};

/**
 * Runs a program from its command line to the end of the process: `--help` is answered; with wrong options, or wrong
 * variables about traces, it ends with code 2 and all that is wrong with them; when `run` throws, with code 1 and a line in the log; else with code 0.
 *
 * @param options.component what it is called in the log
 * @param options.run works until it is told to stop
 */
export async function runProgram<O extends OptionTable & { 'log-level': Option<string> }>(
  options: {
    program: Program<O>;
    component: string;
    run: (context: ProgramContext<OptionValues<O>>) => Promise<void>;
    /** Default: what the option `log-level` says. */
    log?: Logger;
  },
  process: ProgramProcess = globalThis.process,
): Promise<void> {
  const { program, component, run } = options;
  const read = readOptions(program, process.argv.slice(2), process.env);
  switch (read.kind) {
    case 'help':
      process.stdout.write(read.text);
      return;
    case 'invalid':
      return refuse(process, read.problems);
    case 'values':
      break;
  }
  const stopped = listenForStop(process, (signal) => {
    log.info({ signal }, 'stopping');
  });
  const traces = await openTracing({
    program: `drover-${component}`,
    env: process.env,
    onTrouble: (message) => {
      log.warn({ message }, 'spans of traces cannot be sent; runs are not disturbed');
    },
  });
  if (traces.kind === 'invalid') return refuse(process, traces.problems);
  const { tracing } = traces;
  const log: Logger =
    options.log ??
    createLog({
      level: String(read.values['log-level']),
      component,
      ...(tracing.isOn && { fields: () => traceFields(tracing.current()) }),
    });
  for (const warning of read.warnings) log.warn(warning);
  const code = await run({ config: read.values, log, tracing, stopped }).then(
    () => 0,
    (error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      log.fatal({ err: error }, `${component} cannot go on: ${message}`);
      return 1;
    },
  );
  await tracing.close();
  process.exit(code);
}

function refuse(process: ProgramProcess, problems: readonly string[]): never {
  process.stderr.write(`${problems.join('\n')}\ntry --help\n`);
  return process.exit(2);
}

function listenForStop(process: ProgramProcess, onStop: (signal: string) => void): () => Promise<void> {
  const endAtOnce = (): void => process.exit(0);
  for (const signal of SIGNALS) process.once(signal, endAtOnce);
  return () =>
    new Promise((resolve) => {
      for (const signal of SIGNALS) {
        process.off(signal, endAtOnce);
        process.once(signal, () => {
          onStop(signal);
          resolve();
        });
      }
    });
}
