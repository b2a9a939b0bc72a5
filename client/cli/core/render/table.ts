import { padTo, visibleWidth } from './text.js';

/** Rows under a header, in columns two spaces apart, without lines: easy to read and to cut up by other programs. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = header.map((title, column) =>
    Math.max(visibleWidth(title), ...rows.map((row) => visibleWidth(row[column] ?? ''))),
  );
  return [header, ...rows].map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : padTo(cell, widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}
