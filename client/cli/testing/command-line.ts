/** The command line as a test runs it: in memory, without colours and without a person. */
import type { Command } from 'commander';
import { buildProgram } from '../program.js';
import type { ProgramParts } from '../program.js';
import { createStyle } from '../core/render/style.js';
import type { Terminal } from '../core/terminal.js';

/** A command line, with all that it writes. */
export interface CommandLine {
  program: Command;
  /** Lines of standard output and of standard error. */
  out: string[];
  notes: string[];
  /** What the parser of arguments itself writes, such as help. */
  written: string[];
  codes: number[];
}

/** Builds one. */
export function commandLine(
  parts: Pick<ProgramParts, 'perform'> & { version?: string; asKubectlPlugin?: boolean } = {},
): CommandLine {
  const { version = '1.2.3', asKubectlPlugin = false, perform } = parts;
  const style = createStyle({ color: false, unicode: true });
  const out: string[] = [];
  const notes: string[] = [];
  const written: string[] = [];
  const codes: number[] = [];
  const terminal: Terminal = {
    out: (text) => void out.push(text),
    note: (text) => void notes.push(text),
    outStyle: style,
    noteStyle: style,
    interactive: false,
    screen: undefined,
    width: undefined,
  };
  const program = buildProgram({
    version,
    environment: { env: {}, asKubectlPlugin },
    terminal: () => terminal,
    exit: (code) => void codes.push(code),
    ...(perform !== undefined && { perform }),
  });
  silence(program, written);
  return { program, out, notes, written, codes };
}

function silence(command: Command, written: string[]): void {
  command.configureOutput({
    writeOut: (text) => void written.push(text),
    writeErr: (text) => void written.push(text),
  });
  for (const below of command.commands) silence(below, written);
}
