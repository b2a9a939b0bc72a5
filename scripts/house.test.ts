import { expect, it } from 'vitest';
import { faultsOf, foldersOf, readImports, readTables } from './house.js';

const ROOMS = { api: [], kube: ['api/core'] };
const CORES = { 'api/core': [] };

it('finds imports that the tables do not allow, and files that import each other', async () => {
  const imports = new Map([
    ['api/core/a.ts', ['api/core/b.ts', 'api/plan/c.ts']],
    ['api/core/b.ts', ['api/core/d.ts']],
    ['api/core/d.ts', ['api/core/a.ts']],
    ['api/plan/c.ts', ['api/core/b.ts']],
    ['kube/k.ts', ['api/core/a.ts', 'api/plan/c.ts']],
  ]);
  expect(faultsOf(imports, { ...(await readTables(process.cwd())), ROOMS, CORES })).toEqual({
    arrows: ['api/core/a.ts → api/plan/c.ts', 'kube/k.ts → api/plan/c.ts'],
    cycles: [['api/core/a.ts', 'api/core/b.ts', 'api/core/d.ts', 'api/plan/c.ts']],
  });
});

it('has nothing to find in this house', async () => {
  const tables = await readTables(process.cwd());
  const imports = readImports(process.cwd(), foldersOf(tables));
  expect(imports.size).toBeGreaterThan(300);
  expect(faultsOf(imports, tables)).toEqual({ arrows: [], cycles: [] });
});
