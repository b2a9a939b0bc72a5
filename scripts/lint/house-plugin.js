// What the tables of `house.js` say, as a rule of the linter: shown in the editor, on the line of the import.
import { join, relative, sep } from 'node:path';
import { CORES, IMPORTS, ROOMS, refusedImport } from '../../house.js';

const ROOT = join(import.meta.dirname, '../..');
const pathFromRoot = (path) => relative(ROOT, path).split(sep).join('/');

/** Imports of other files: `import`, `export … from`, `import()` of values and of types. */
const rooms = {
  create(context) {
    const from = pathFromRoot(context.filename);
    const check = ({ source }) => {
      if (typeof source?.value !== 'string' || !source.value.startsWith('.')) return;
      const to = pathFromRoot(join(context.filename, '..', source.value)).replace(/\.js$/, '.ts');
      const message = refusedImport({ ROOMS, CORES }, from, to);
      if (message !== undefined) context.report({ node: source, message });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    };
  },
};

/** Imports by the words that a file writes, packages too; `import()` is free, since it loads nothing at the start. */
const words = {
  create(context) {
    const from = pathFromRoot(context.filename);
    if (from.endsWith('.test.ts')) return {};
    const tables = IMPORTS.filter(({ files, except }) => files.test(from) && !except.includes(from));
    const check = ({ source, importKind, exportKind }) => {
      if (typeof source?.value !== 'string') return;
      const typeOnly = (importKind ?? exportKind) === 'type';
      for (const { imports, types, message } of tables) {
        if ((types || !typeOnly) && !imports.test(source.value)) context.report({ node: source, message });
      }
    };
    return { ImportDeclaration: check, ExportNamedDeclaration: check, ExportAllDeclaration: check };
  },
};

export default { meta: { name: 'house' }, rules: { rooms, words } };
