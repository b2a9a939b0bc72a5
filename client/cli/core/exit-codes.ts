/** Exit codes of the command line; `--help` lists them. */
export const EXIT = {
  /** Done; with --watch: the run Succeeded. */
  ok: 0,
  /** With --watch: the run Failed. */
  runFailed: 1,
  /** What was checked has errors, or is not safe. */
  invalid: 1,
  /** With --watch: the run was Cancelled. */
  runCancelled: 2,
  /** The command could not be carried out. */
  error: 3,
  /** A person did not confirm, or could not be asked. */
  notConfirmed: 4,
  /** The command line was wrong. */
  usage: 64,
  /** Ctrl-C: the command stopped looking; the run goes on. */
  interrupted: 130,
} as const;

/** The lines that `--help` shows. */
export const EXIT_CODE_HELP = `Exit codes:
  0    done; with --watch: the run Succeeded
  1    with --watch: the run Failed; validate, preflight, import: errors were found;
       upgrade --check: not safe now
  2    with --watch: the run was Cancelled
  3    the command could not be carried out (nothing found, refused, unreachable)
  4    not confirmed
  64   wrong command line
  130  stopped by Ctrl-C; a run that was being watched goes on`;

/** Exit code for the end of a run. */
export function exitCodeOf(phase: string | undefined): number {
  switch (phase) {
    case 'Succeeded':
      return EXIT.ok;
    case 'Cancelled':
    case 'Canceled':
      return EXIT.runCancelled;
    default:
      return EXIT.runFailed;
  }
}
