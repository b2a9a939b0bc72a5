/** What a terminal shows, as a page that a browser can take a picture of. */
import { spawn } from 'node:child_process';
import xterm from '@xterm/headless';
import type { IBufferCell, Terminal } from '@xterm/headless';

const COLUMNS = 118;
const ROWS = 60;
/** Of a character, in pixels of the page. */
const LINE = 20;
const CHARACTER = 8.43;
const PADDING = 16;
const COLOURS = ['#3b4252', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#d8dee9'];
const BRIGHT = ['#7f8896', '#ff8a94', '#b5e890', '#ffd68a', '#84c8ff', '#e29bf5', '#7fdbe6', '#ffffff'];

export interface Shown {
  html: string;
  /** What it says, without colours. */
  text: string;
  size: { width: number; height: number };
}

/**
 * Runs a command line on a terminal, and keeps what is on the screen at a moment, or at its end.
 *
 * @param options.when is asked with the screen's text whenever it changes; default: at the end
 */
export async function shown(
  command: string,
  options: { cwd?: string; env?: NodeJS.ProcessEnv; when?: (text: string) => boolean } = {},
): Promise<Shown> {
  const terminal = new xterm.Terminal({
    cols: COLUMNS,
    rows: ROWS,
    allowProposedApi: true,
    convertEol: false,
  });
  // `script` gives it a terminal, of this size.
  const child = spawn('script', ['-qec', `stty cols ${COLUMNS} rows ${ROWS}; ${command}`, '/dev/null'], {
    cwd: options.cwd,
    env: { ...process.env, TERM: 'xterm-256color', ...options.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let kept: Shown | undefined;
  for await (const chunk of child.stdout) {
    await new Promise<void>((resolve) => terminal.write(chunk as Buffer, resolve));
    if (kept === undefined && options.when?.(textOf(terminal)) === true) kept = pageOf(terminal, command);
  }
  if (options.when !== undefined && kept === undefined)
    throw new Error(`${command} never showed what was waited for; at its end:\n${textOf(terminal)}`);
  return kept ?? pageOf(terminal, command);
}

function linesOf(terminal: Terminal): { cells: IBufferCell[]; text: string }[] {
  const { active } = terminal.buffer;
  return Array.from({ length: active.length }, (_, row) => {
    const line = active.getLine(row);
    const text = line?.translateToString(true) ?? '';
    const cells = Array.from({ length: COLUMNS }, (__, column) => line?.getCell(column)).filter(
      (cell) => cell !== undefined,
    );
    return { cells, text };
  });
}

const textOf = (terminal: Terminal): string =>
  linesOf(terminal)
    .map(({ text }) => text)
    .join('\n')
    .trimEnd();

function pageOf(terminal: Terminal, command: string): Shown {
  const lines = linesOf(terminal);
  const used = lines.slice(0, lines.findLastIndex(({ text }) => text.trim() !== '') + 1);
  const body = [`<b>$ ${escape(command)}</b>`, ...used.map(({ cells }) => lineOf(cells))].join('\n');
  const html = `<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #1e222a; }
pre { margin: 0; padding: ${PADDING}px; color: #d8dee9; font: 14px/${LINE}px 'DejaVu Sans Mono', monospace; }
</style><pre>${body}</pre>`;
  const longest = Math.max(command.length + 2, ...used.map(({ text }) => text.length));
  return {
    html,
    text: textOf(terminal),
    size: {
      width: Math.ceil(longest * CHARACTER) + 2 * PADDING,
      height: (used.length + 1) * LINE + 2 * PADDING,
    },
  };
}

/** Runs of cells that look alike are one element. */
function lineOf(cells: readonly IBufferCell[]): string {
  const runs: { style: string; text: string }[] = [];
  for (const cell of cells) {
    if (cell.getWidth() === 0) continue;
    const style = styleOf(cell);
    const text = cell.getChars() || ' ';
    const last = runs.at(-1);
    if (last?.style === style) last.text += text;
    else runs.push({ style, text });
  }
  return runs
    .map(({ style, text }) => (style === '' ? escape(text) : `<span style="${style}">${escape(text)}</span>`))
    .join('')
    .trimEnd();
}

function styleOf(cell: IBufferCell): string {
  const colour = cell.isFgPalette() ? [...COLOURS, ...BRIGHT][cell.getFgColor()] : undefined;
  return [
    colour === undefined ? '' : `color:${colour}`,
    cell.isBold() !== 0 ? 'font-weight:700' : '',
    cell.isDim() !== 0 ? 'opacity:.65' : '',
    cell.isUnderline() !== 0 ? 'text-decoration:underline' : '',
  ]
    .filter((part) => part !== '')
    .join(';');
}

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
