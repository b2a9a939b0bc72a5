import type { Style } from './style.js';
import { clip, cut, oneLine, padTo, visibleWidth, wrap } from './text.js';

/** A line of a tree with what hangs below it. Texts are plain; the renderer makes them safe and coloured. */
export interface TreeNode {
  /** Decides sign and colour; absent for things without a state. */
  phase?: string;
  label: string;
  /** What kind of thing it is, such as the type of an action. */
  kind?: string;
  /** How long it took, or takes. */
  time?: string;
  /** Reason, message, remarks. */
  note?: string;
  children: TreeNode[];
}

/** How a tree is laid out. */
export interface TreeLayout {
  style: Style;
  /** Columns there are; undefined = as many as it takes. */
  width?: number;
  /** Whether a note that does not fit goes on below (true) or is cut (default). */
  wrapNotes?: boolean;
}

const LABEL_MAX = 48;
const GAP = '  ';

interface Row {
  node: TreeNode;
  /** The lines of the tree before the sign. */
  stem: string;
  /** The same for further lines of this row. */
  under: string;
}

/** Lays a tree out: branches, sign, label, kind, time and note in columns. */
export function renderTree(nodes: readonly TreeNode[], layout: TreeLayout): string[] {
  const rows = nodes.flatMap((node) => rowsOf(node, '', '', layout.style.unicode));
  const head = ({ node, stem }: Row): number =>
    stem.length + (node.phase === undefined ? 0 : 2) + visibleWidth(oneLine(node.label));
  const columns = {
    label: Math.min(LABEL_MAX, Math.max(0, ...rows.map(head))),
    kind: Math.max(0, ...rows.map(({ node }) => visibleWidth(oneLine(node.kind ?? '')))),
    time: Math.max(0, ...rows.map(({ node }) => (node.time ?? '').length)),
  };
  return rows.flatMap((row) => linesOf(row, columns, layout));
}

function rowsOf(node: TreeNode, stem: string, under: string, unicode: boolean): Row[] {
  const lines = unicode
    ? { branch: '├─ ', last: '└─ ', through: '│  ' }
    : { branch: '|- ', last: '`- ', through: '|  ' };
  const bar = node.children.length > 0 ? lines.through : '   ';
  return [
    { node, stem, under: under + bar },
    ...node.children.flatMap((child, index) => {
      const isLast = index === node.children.length - 1;
      return rowsOf(
        child,
        under + (isLast ? lines.last : lines.branch),
        under + (isLast ? '   ' : lines.through),
        unicode,
      );
    }),
  ];
}

function linesOf(
  row: Row,
  columns: { label: number; kind: number; time: number },
  layout: TreeLayout,
): string[] {
  const { style, width } = layout;
  const { node, stem } = row;
  const sign = node.phase === undefined ? '' : `${style.sign(node.phase)} `;
  const label = oneLine(node.label);
  const styled =
    node.phase === undefined || node.phase === 'Succeeded' ? label : style.phase(node.phase, label);
  const cells = [padTo(`${style.dim(stem)}${sign}${styled}`, columns.label)];
  if (columns.kind > 0) cells.push(padTo(style.dim(oneLine(node.kind ?? '')), columns.kind));
  if (columns.time > 0) cells.push(style.dim((node.time ?? '').padStart(columns.time)));
  const head = cells.join(GAP);
  const note = oneLine(node.note ?? '');
  if (note === '') return [width === undefined ? head.trimEnd() : clip(head.trimEnd(), width, style.unicode)];

  const color = (text: string): string =>
    node.phase === 'Failed' || node.phase === 'Cancelled' ? style.phase(node.phase, text) : style.dim(text);
  const before = visibleWidth(head) + GAP.length;
  if (width === undefined) return [`${head}${GAP}${color(note)}`];
  if (layout.wrapNotes !== true) {
    const room = width - before;
    return [
      room < 8 ? clip(head, width, style.unicode) : `${head}${GAP}${color(cut(note, room, style.unicode))}`,
    ];
  }
  const MIN_NOTE = 32;
  if (width - before >= MIN_NOTE) {
    const [first = '', ...rest] = wrap(note, width - before);
    const margin = padTo(style.dim(row.under), before);
    return [`${head}${GAP}${color(first)}`, ...rest.map((line) => `${margin}${color(line)}`)];
  }
  // Too narrow beside the columns: the note goes below its line.
  const margin = `${style.dim(row.under)}  `;
  return [
    clip(head, width, style.unicode),
    ...wrap(note, width - visibleWidth(margin)).map((line) => `${margin}${color(line)}`),
  ];
}
