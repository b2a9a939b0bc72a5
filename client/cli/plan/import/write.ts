import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Document, isCollection, stringify } from 'yaml';
import { shorten } from '../../../../api/plan/naming.js';
import { CliError } from '../../core/cli-error.js';
import type { ParsedFile } from '../manifests/parse.js';
import { documentEdits, type ImportedObject } from './convert.js';

/**
 * Writes every converted object into a file of its own, `<namespace>/<kind>-<name>.yaml`; executions go to a folder of
 * their own, as applying one starts a run. Never overwrites.
 *
 * @returns the files
 * @throws CliError when a file is there already
 */
export async function writeConverted(folder: string, objects: readonly ImportedObject[]): Promise<string[]> {
  const written: string[] = [];
  for (const { source, converted } of objects) {
    if (converted === undefined) continue;
    const { kind, name, namespace } = source;
    const part = kind === 'DRPlanExecution' ? 'executions' : '';
    // Names of files come from objects: made safe, so that none leads out of the folder.
    const file = join(
      folder,
      shorten(namespace, 63),
      part,
      `${kind.toLowerCase()}-${shorten(name, 100)}.yaml`,
    );
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, stringify(converted, { lineWidth: 0, aliasDuplicateObjects: false }), {
      flag: 'wx',
    }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      throw new CliError(`${file} is there already; nothing is overwritten`, {
        hints: ['choose another folder with --to DIR, or remove the file'],
      });
    });
    written.push(file);
  }
  return written;
}

/**
 * Changes files in place: only the fields of the conversion; comments stay. A file is replaced as a whole or not at
 * all.
 *
 * @returns the files that have changed
 */
export async function rewriteFiles(
  files: readonly ParsedFile[],
  objects: readonly ImportedObject[],
): Promise<string[]> {
  const written: string[] = [];
  for (const file of files) {
    const here = objects.filter(({ source, edits }) => source.source.file === file.file && edits.length > 0);
    if (here.length === 0) continue;
    for (const object of here) edit(object.source.source.document, object);
    const text = file.documents.map((document) => document.toString({ lineWidth: 0 })).join('');
    const temporary = `${file.file}.${process.pid}.tmp`;
    await writeFile(temporary, text, { flag: 'wx' });
    await rename(temporary, file.file);
    written.push(file.file);
  }
  return written;
}

function edit(document: Document, object: ImportedObject): void {
  for (const change of documentEdits(object)) {
    const path = [...change.path];
    if (change.op === 'remove') document.deleteIn(path);
    else if (isCollection(document.getIn(path.slice(0, -1)))) document.setIn(path, change.value);
  }
}
