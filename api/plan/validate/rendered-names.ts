import { blockOf } from '../actions/action-defaults.js';
import { findDescriptor } from '../actions/table.js';
import { isObject } from '../../core/json.js';
import { objectsIn } from '../../core/manifest.js';
import { findPlaceholders } from '../template/placeholders.js';
import type { Problem } from '../../core/problem.js';
import { RenderError, renderDocuments, renderString } from '../template/render.js';
import type { RenderScope } from '../template/render.js';
import type { Action, Scalar } from '../types.js';
import { error, show, warning } from '../../core/fields.js';
import { checkName } from './names.js';

/** What names are filled in from: what a plan knows before there is an execution. */
export interface NameScope {
  planName: string;
  params: Readonly<Record<string, Scalar>>;
}

type Form = 'label' | 'subdomain';

/** Longest suffix that the command line and API server give the name of an execution. */
const EXECUTION_SUFFIX = '-xxxxx';
/** A line of a manifest in which a placeholder makes a name; only then is the manifest worth rendering. */
const NAMES_OBJECT = /["']?(?:name|namespace)["']?\s*:[^\n]*(?:\{\{|\$\()/;

/**
 * Names that become too long, or otherwise impossible, once the plan's parameters are filled in: the API server would
 * refuse the object in the middle of a run. Reason `InvalidName`: an error when no execution can change the name, else a
 * warning. Names that hold outputs are unknown until then.
 */
export function checkRenderedNames(action: Action, names: NameScope, path: string): Problem[] {
  const descriptor = findDescriptor(action.type);
  const block = blockOf(action);
  if (descriptor === undefined || !isObject(block)) return [];
  const scope: RenderScope = {
    params: { ...names.params },
    planName: names.planName,
    executionName: `${names.planName}${EXECUTION_SUFFIX}`,
    operation: 'Execute',
    outputs: {},
  };
  const { field, names: named = {}, manifest } = descriptor;
  const problems = Object.entries(named).flatMap(([name, form]) => {
    const text = block[name];
    return typeof text === 'string' ? checkField(text, `${path}.${field}.${name}`, form, scope) : [];
  });
  const text = manifest === undefined ? undefined : block[manifest];
  return typeof text === 'string'
    ? [...problems, ...checkManifest(text, `${path}.${field}.${manifest}`, scope)]
    : problems;
}

function checkField(text: string, path: string, form: Form, scope: RenderScope): Problem[] {
  const { placeholders } = findPlaceholders(text);
  if (placeholders.length === 0) return [];
  const name = rendered(() => renderString(text, scope));
  if (name === undefined || checkName(name, path, form).length === 0) return [];
  return [badName(path, name, form, canChange(text))];
}

function checkManifest(manifest: string, path: string, scope: RenderScope): Problem[] {
  if (!NAMES_OBJECT.test(manifest)) return [];
  const documents = rendered(() => objectsIn(renderDocuments(manifest, scope))) ?? [];
  return documents.flatMap((document) => {
    const metadata = isObject(document) && isObject(document.metadata) ? document.metadata : {};
    const problems: Problem[] = [];
    // Some kinds allow more characters than others, but none a longer name.
    if (typeof metadata.name === 'string' && metadata.name.length > 253) {
      problems.push(badName(path, metadata.name, 'subdomain', canChange(manifest)));
    }
    const { namespace } = metadata;
    if (typeof namespace === 'string' && checkName(namespace, path, 'label').length > 0) {
      problems.push(badName(path, namespace, 'label', canChange(manifest)));
    }
    return problems;
  });
}

function badName(path: string, name: string, form: Form, open: boolean): Problem {
  const max = form === 'label' ? 63 : 253;
  const what = form === 'label' ? 'namespace' : 'name';
  const fault =
    name.length > max
      ? `has ${name.length} characters; at most ${max} are allowed`
      : `may have only lower-case letters, digits${form === 'label' ? '' : ', "."'} and "-"`;
  const message = `${what} becomes ${show(name)} with the parameters of this plan, which ${fault}; shorten or correct the values`;
  return open ? warning(path, 'InvalidName', message) : error(path, 'InvalidName', message);
}

/** Whether an execution can still change the name, by its own name or its parameters. */
function canChange(text: string): boolean {
  return findPlaceholders(text).placeholders.some(
    ({ reference }) =>
      reference.kind === 'param' || (reference.kind === 'builtIn' && reference.name === 'executionName'),
  );
}

/** Undefined when something is not known yet; what is wrong with the template is reported elsewhere. */
function rendered<T>(render: () => T): T | undefined {
  try {
    return render();
  } catch (thrown) {
    if (thrown instanceof RenderError) return undefined;
    throw thrown;
  }
}
