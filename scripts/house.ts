/** Which part of the code imports which, and what of it the tables of the house do not allow. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { childrenOf, isNode, parse } from './syntax.js';
import type { SyntaxNode } from './syntax.js';

/** Files by path from the root, with the paths that they import, types too. */
export type Imports = ReadonlyMap<string, readonly string[]>;

/** The tables of `house.js`, and how it judges by them. */
export interface Tables {
  /** What each room may import of others. */
  ROOMS: Record<string, string[]>;
  /** What each core may import of its own room. */
  CORES: Record<string, string[]>;
  /** Why a file may not import another, or undefined. */
  refusedImport: (tables: Pick<Tables, 'ROOMS' | 'CORES'>, from: string, to: string) => string | undefined;
}

/** What is wrong with the house. */
export interface Faults {
  /** Imports that the tables do not allow, as `from → to`. */
  arrows: string[];
  /** Files that import each other, the ones of a circle together. */
  cycles: string[][];
}

/** The tables, as lint reads them. */
export async function readTables(root: string): Promise<Tables> {
  return (await import(pathToFileURL(join(root, 'house.js')).href)) as Tables;
}

/** The folders that the tables speak of. */
export const foldersOf = ({ ROOMS }: Tables): string[] => [
  ...new Set(Object.keys(ROOMS).map((room) => room.split('/')[0] ?? '')),
];

/** All source files under these folders, without tests and what only tests use. */
export function readImports(root: string, folders: readonly string[]): Imports {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => join(folder, path).split(sep).join('/'))
      .filter((path) => path.endsWith('.ts') && !/\.test\.ts$|\/testing\//.test(path)),
  );
  return new Map(
    files.map((file) => {
      const found = sourcesIn(parse(readFileSync(join(root, file), 'utf8')))
        .filter((source) => source.startsWith('.'))
        .map((source) => normalize(join(dirname(file), source)).replace(/\.js$/, '.ts'));
      return [file, [...new Set(found)]];
    }),
  );
}

/** Judges imports by the tables. */
export function faultsOf(imports: Imports, tables: Tables): Faults {
  return {
    arrows: [...imports].flatMap(([file, found]) => arrowsOf(file, found, tables)),
    cycles: cyclesOf(imports),
  };
}

/** The part of the house that a file belongs to: its room, and the folder in it. */
export function partOf(file: string): string {
  const [room = '', ...rest] = file.split('/');
  const depth = room === 'client' ? 2 : 1;
  return [room, ...rest.slice(0, -1).slice(0, depth)].join('/');
}

/** What is imported and exported on, types too: `import`, `export … from`, `import()`. */
function sourcesIn(node: SyntaxNode): string[] {
  const own = isNode(node.source) && typeof node.source.value === 'string' ? [node.source.value] : [];
  return [...own, ...childrenOf(node).flatMap(sourcesIn)];
}

const arrowsOf = (file: string, found: readonly string[], tables: Tables): string[] =>
  found.filter((to) => tables.refusedImport(tables, file, to) !== undefined).map((to) => `${file} → ${to}`);

/** Circles of files, by Tarjan's algorithm: strongly connected components of more than one. */
function cyclesOf(imports: Imports): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const cycles: string[][] = [];
  const visit = (file: string): number => {
    const place = order.size;
    order.set(file, place);
    open.push(file);
    let low = place;
    for (const next of imports.get(file) ?? []) {
      if (!imports.has(next)) continue;
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (open.includes(next)) low = Math.min(low, lowest.get(next) ?? order.get(next) ?? low);
    }
    lowest.set(file, low);
    if (low === place) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) cycles.push(circle.sort());
    }
    return low;
  };
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return cycles;
}
