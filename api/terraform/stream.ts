/** What an engine says while it works: the lines of JSON that `plan -json` and `apply -json` write (T4.4). */
import { isObject, parseJson } from '../core/json.js';
import type { Diagnostic, ResourceMove } from './operation-result.js';
import { shortAddress } from './plan-facts.js';
import { instanceKey } from './state.js';

/** A line that matters. Lines of other types, and text that is no JSON, are for people alone. */
export type StreamEvent =
  | { type: 'move'; move: ResourceMove; key: string }
  | { type: 'diagnostic'; diagnostic: Diagnostic };

/** Longest part of a summary or detail that is kept, in characters. */
const MAX_TEXT = 2000;

const STATUS = {
  apply_start: 'applying',
  apply_complete: 'completed',
  apply_errored: 'failed',
} as const;

/** Reads a line; undefined where it does not matter. Resources are told by `hook.resource`, never by text for people. */
export function readStreamLine(line: string): StreamEvent | undefined {
  // Most lines do not matter, and a line may be megabytes long.
  if (!/"type":\s?"(apply_(start|complete|errored)|diagnostic)"/.test(line)) return undefined;
  const value = parseJson(line);
  if (!isObject(value)) return undefined;
  if (value.type === 'diagnostic') {
    const diagnostic = readDiagnostic(value.diagnostic);
    return diagnostic === undefined ? undefined : { type: 'diagnostic', diagnostic };
  }
  const status = STATUS[value.type as keyof typeof STATUS];
  return status === undefined || !isObject(value.hook) ? undefined : readMove(value.hook, status);
}

function readMove(hook: Record<string, unknown>, status: ResourceMove['status']): StreamEvent | undefined {
  const { resource, action, id_value: id } = hook;
  // Data sources are read while an apply goes on; nothing comes of that.
  if (!isObject(resource) || !isAction(action) || typeof resource.addr !== 'string') return undefined;
  const index = resource.resource_key;
  return {
    type: 'move',
    move: {
      address: shortAddress(resource.addr),
      action,
      status,
      ...(typeof id === 'string' && { id: brief(id) }),
    },
    key: instanceKey({
      module: textOf(resource.module),
      type: textOf(resource.resource_type),
      name: textOf(resource.resource_name),
      ...((typeof index === 'string' || typeof index === 'number') && { index }),
    }),
  };
}

const isAction = (action: unknown): action is ResourceMove['action'] =>
  action === 'create' || action === 'update' || action === 'delete';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const brief = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

function readDiagnostic(value: unknown): Diagnostic | undefined {
  if (!isObject(value) || (value.severity !== 'error' && value.severity !== 'warning')) return undefined;
  const { severity, summary, detail, address, range } = value;
  const start = isObject(range) && isObject(range.start) ? range.start : {};
  return {
    severity,
    summary: brief(textOf(summary)),
    ...(typeof detail === 'string' && detail !== '' && { detail: brief(detail) }),
    ...(isObject(range) && typeof range.filename === 'string' && { file: range.filename }),
    ...(typeof start.line === 'number' && { line: start.line }),
    ...(typeof address === 'string' && address !== '' && { address: shortAddress(address) }),
  };
}
