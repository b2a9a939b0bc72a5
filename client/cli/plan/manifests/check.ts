import { unknownFieldsIn } from '../../../../api/core/unknown-fields.js';
import type { Problem } from '../../../../api/core/problem.js';
import { unknownFields } from '../../../../api/plan/validate/index.js';
import { createFileSet } from './file-set.js';
import { checkIdentity } from './identity.js';
import { type FileObject, isDrObject } from './objects.js';
import { type LocatedProblem, placeProblem } from './place-problem.js';
import { createCheck } from './rules.js';
import type { Surroundings } from './surroundings.js';

/** An object with what was found. */
export interface CheckedObject {
  kind: string;
  namespace: string;
  name: string;
  file: string;
  line: number;
  problems: LocatedProblem[];
}

/**
 * Checks objects of files together: workflows, plans against the workflows, executions against their plans, and other
 * kinds by their schemas. Every problem has its place in a file; one about a workflow that a plan uses stands where the
 * workflow is written.
 */
export function checkObjects(objects: readonly FileObject[], around: Surroundings): CheckedObject[] {
  const files = createFileSet(objects, around);
  const check = createCheck(objects, files, around);
  return objects.map((entry) => {
    const { kind, namespace, name, source } = entry;
    const found = [...checkIdentity(entry, files.find(kind, namespace, name)), ...check(entry)];
    // What is too deep to be checked is too deep to be walked.
    if (!found.some(({ reason }) => reason === 'TooComplex')) found.push(...unknownFieldsOf(entry));
    return {
      kind,
      namespace,
      name,
      file: source.file,
      line: source.locate('').line,
      problems: found.map((problem) => placeProblem(entry, problem, files)),
    };
  });
}

const unknownFieldsOf = (entry: FileObject): Problem[] =>
  isDrObject(entry)
    ? unknownFields(entry.kind, entry.object.spec)
    : unknownFieldsIn(entry.descriptor.spec, entry.object.spec, 'spec');
