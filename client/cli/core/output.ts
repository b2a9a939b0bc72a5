import type { OutputFormat } from './output-format.js';
import type { Terminal } from './terminal.js';

/** Writes a value to standard output, whole, in a format for programs. */
export async function printValue(terminal: Terminal, value: unknown, format: OutputFormat): Promise<void> {
  if (format === 'json') {
    terminal.out(JSON.stringify(value, null, 2));
    return;
  }
  const { stringify } = await import('yaml');
  terminal.out(stringify(value, { lineWidth: 0 }).trimEnd());
}

/** Objects of one or several kinds as kubectl gives them: a List. */
export const asList = (items: readonly unknown[]): unknown => ({ apiVersion: 'v1', kind: 'List', items });

/** An object without the bookkeeping of field managers, which nobody wants to read. */
export function withoutManagedFields<T extends { metadata: { managedFields?: unknown } }>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
