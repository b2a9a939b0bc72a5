import { stringify } from 'yaml';
import type { Terminal } from './terminal.js';

/** Formats for programs. */
export const OUTPUT_FORMATS = ['json', 'yaml'] as const;
/** A format for programs. */
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Writes a value to standard output, whole, in a format for programs. */
export function printValue(terminal: Terminal, value: unknown, format: OutputFormat): void {
  terminal.out(
    format === 'json' ? JSON.stringify(value, null, 2) : stringify(value, { lineWidth: 0 }).trimEnd(),
  );
}

/** Objects of one or several kinds as kubectl gives them: a List. */
export const asList = (items: readonly unknown[]): unknown => ({ apiVersion: 'v1', kind: 'List', items });

/** An object without the bookkeeping of field managers, which nobody wants to read. */
export function withoutManagedFields<T extends { metadata: { managedFields?: unknown } }>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
