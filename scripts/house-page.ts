/** `npm run house`: draws the rooms, and fails where an import is not allowed or files import each other. */
import { faultsOf, foldersOf, partOf, readImports, readTables } from './house.js';
import type { Imports } from './house.js';

const root = process.cwd();
const tables = await readTables(root);
const imports = readImports(root, foldersOf(tables));
const { arrows, cycles } = faultsOf(imports, tables);
process.stdout.write(`${drawing(imports)}\n`);
process.stdout.write(`${arrows.length} arrows that the tables do not allow\n`);
for (const arrow of arrows) process.stdout.write(`  ${arrow}\n`);
process.stdout.write(`${cycles.length} circles\n`);
for (const circle of cycles) process.stdout.write(`  ${circle.join(', ')}\n`);
process.exitCode = arrows.length + cycles.length > 0 ? 1 : 0;

/** A line for each part: how many files it has, and which parts they import, how often. */
function drawing(all: Imports): string {
  const parts = new Map<string, { files: number; to: Map<string, number> }>();
  for (const [file, found] of all) {
    const name = partOf(file);
    const part = parts.get(name) ?? { files: 0, to: new Map<string, number>() };
    parts.set(name, part);
    part.files += 1;
    for (const to of found.map(partOf)) if (to !== name) part.to.set(to, (part.to.get(to) ?? 0) + 1);
  }
  const width = Math.max(...[...parts.keys()].map((name) => name.length));
  const lines = [...parts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { files, to }]) => {
      const targets = [...to]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([target, count]) => `${target} (${count})`);
      return `${name.padEnd(width)}  ${String(files).padStart(3)} files  → ${targets.join(', ') || 'nothing'}`;
    });
  return lines.join('\n');
}
