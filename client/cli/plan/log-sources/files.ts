import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { LogEntry } from './entry.js';

/** Log files may have grown for weeks; what matters of a run is near the end. */
const TAIL_BYTES = 16 << 20;

/** Lines of the bridge's and the worker's logs that speak of a run: those that hold its uid or its workflow id. */
export async function readLogFiles(folder: string, marks: readonly string[]): Promise<LogEntry[]> {
  const sources = ['bridge', 'worker'] as const;
  const entries = await Promise.all(
    sources.map(async (source) => {
      const text = await tailOf(join(folder, `${source}.log`));
      return text
        .split('\n')
        .filter((line) => marks.some((mark) => line.includes(mark)))
        .flatMap((line) => logLineEntry(line, source));
    }),
  );
  return entries.flat();
}

async function tailOf(path: string): Promise<string> {
  let file;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const buffer = Buffer.alloc(size - start);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Fields of a line that every line has, or that the marks say already. */
const BOOKKEEPING = new Set(
  'level time msg pid hostname name component object uid runId workflowId'.split(' '),
);

/** A line of structured log as an entry; none for a line that is not one. */
export function logLineEntry(line: string, source: 'bridge' | 'worker'): LogEntry[] {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return [];
  }
  const when = new Date(fields['time'] as string | number);
  if (Number.isNaN(when.getTime())) return [];
  const message = typeof fields['msg'] === 'string' ? fields['msg'] : '';
  const rest = Object.entries(fields)
    .filter(([key, value]) => !BOOKKEEPING.has(key) && value !== undefined && value !== null)
    .map(([key, value]) => `${key}=${key === 'err' ? messageOf(value) : short(value)}`);
  return [
    {
      time: when.toISOString(),
      source,
      level: levelOf(fields['level']),
      subject: typeof fields['object'] === 'string' ? fields['object'] : source,
      text: [message, ...rest].join(' ').trim(),
    },
  ];
}

function levelOf(level: unknown): LogEntry['level'] {
  const WARN = 40;
  const ERROR = 50;
  if (typeof level === 'number') return level >= ERROR ? 'error' : level >= WARN ? 'warn' : 'info';
  const word = String(level).toLowerCase();
  return word === 'error' || word === 'fatal' ? 'error' : word.startsWith('warn') ? 'warn' : 'info';
}

const short = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const MAX = 200;
  return text.length > MAX ? `${text.slice(0, MAX)}…` : text;
};

function messageOf(error: unknown): string {
  const message = (error as { message?: unknown }).message;
  return typeof message === 'string' ? message : short(error);
}
