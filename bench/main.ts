/** The command of the benchmarks: `npm run bench`. */
import { processTerminal } from '../client/cli/core/terminal.js';
import { createProgress } from './lib/progress.js';
import { modelLines } from './model/report.js';
import { parseOptions } from './options.js';
import { readResults, writeResults } from './report/results.js';
import { reportLines } from './report/text.js';
import { runBench } from './run.js';
import { SCENARIOS } from './scenarios/index.js';

const terminal = processTerminal(process);
const parsed = parseOptions(process.argv.slice(2), SCENARIOS);
switch (parsed.kind) {
  case 'help':
  case 'list':
    terminal.out(parsed.text);
    break;
  case 'invalid':
    terminal.note(parsed.message);
    terminal.note('"npm run bench -- --help" tells more');
    process.exitCode = 2;
    break;
  case 'model':
    try {
      for (const line of modelLines(await readResults(parsed.from), parsed)) terminal.out(line);
    } catch (error) {
      terminal.note(error instanceof Error ? error.message : String(error));
      process.exitCode = 1;
    }
    break;
  case 'run': {
    const { options } = parsed;
    const stop = new AbortController();
    process.once('SIGINT', () => {
      terminal.note(
        'stopping after this repetition; Ctrl-C again ends at once and may leave processes behind',
      );
      stop.abort(new Error('interrupted'));
    });
    try {
      // Before anything is measured for an hour.
      const earlier = options.compare === undefined ? undefined : await readResults(options.compare);
      const results = await runBench(options, createProgress(process.stderr), stop.signal);
      if (options.out !== undefined) await writeResults(options.out, results);
      const lines = reportLines(results, {
        style: terminal.outStyle,
        all: options.all,
        ...(earlier !== undefined && { earlier }),
      });
      for (const line of lines) terminal.out(line);
      if (results.failures.length > 0) process.exitCode = 1;
    } catch (error) {
      terminal.note(error instanceof Error ? error.message : String(error));
      process.exitCode = 1;
    }
    break;
  }
}
