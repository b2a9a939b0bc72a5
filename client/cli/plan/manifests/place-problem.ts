import { isObject } from '../../../../api/core/json.js';
import type { Problem } from '../../../../api/core/problem.js';
import type { FileSet } from './file-set.js';
import type { FileObject } from './objects.js';
import type { ManifestObject } from './parse.js';
import type { Place } from './place.js';

/** A problem with its place. */
export type LocatedProblem = Problem & Place;

/** Where a problem of an object stands: what a path says of a workflow or a plan stands where that is written. */
export function placeProblem(entry: FileObject, problem: Problem, files: FileSet): LocatedProblem {
  const { source, path } = ownerOf(entry, problem.path, files);
  const at = source?.locate(path, problem.message);
  const file = source?.file ?? entry.source.file;
  return { ...problem, file, ...(at ?? entry.source.locate('spec')) };
}

/** The object that a path leads into, and the path inside it. No source: it is not among the files. */
function ownerOf(
  entry: FileObject,
  path: string,
  files: FileSet,
): { source: ManifestObject | undefined; path: string } {
  const inside = /^(.*?)\.workflowRef\(([^/()]*)\/([^()]*)\)\.(.*)$/s.exec(path);
  const isOfPlan = entry.kind === 'DRPlanExecution' && /^(plan\.)?spec\.(stages|globalParams)/.test(path);
  const holder = isOfPlan ? planOf(entry, files) : entry;
  if (inside !== null) {
    const [, before = '', namespace = '', name = '', rest = ''] = inside;
    const used = files.find('DRWorkflow', namespace, name);
    return used === undefined
      ? { source: holder?.source, path: `${before}.workflowRef` }
      : { source: used.source, path: rest };
  }
  return { source: holder?.source, path: path.replace(/^plan\./, '') };
}

function planOf({ object, namespace }: FileObject, files: FileSet): FileObject | undefined {
  const spec = isObject(object.spec) ? object.spec : {};
  return typeof spec.planRef === 'string' ? files.find('DRPlan', namespace, spec.planRef) : undefined;
}
