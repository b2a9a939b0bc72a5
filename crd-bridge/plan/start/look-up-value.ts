/** Looks up one value in an object of the cluster, for a parameter that is taken from there (S1.23). */
import { isObject } from '../../../api/core/json.js';
import { findByPath, readJsonPath } from '../../../api/core/json-path.js';
import type { ResolvedValue } from '../../../api/plan/snapshot/snapshot.js';
import type { ManifestRef } from '../../../api/plan/template/value-from.js';
import type { Scalar } from '../../../api/plan/types.js';
import type { KubeClient, KubeList } from '../../../kube/client.js';
import { isRetryable, KubeError } from '../../../kube/error.js';
import type { KubeObject } from '../../../kube/object.js';
import { listPages } from '../../../kube/pages.js';
import { refuse } from './refused.js';

/** Most objects that a selector may match; more are most likely a mistake. */
const MAX_MATCHES = 5000;
/** Most names shown when several objects match where one is asked for. */
const NAMED_MATCHES = 5;
/** Most characters of a value that is looked up. */
export const MAX_VALUE_CHARACTERS = 4096;

/** Who looks. */
export interface LookupContext {
  /** As the identity that the run acts as. */
  kube: KubeClient;
  /** Whom {@link kube} acts as, for messages. */
  identity: string;
}

/** A value, and where it was found. */
export interface FoundValue {
  value: Scalar;
  source: Pick<ResolvedValue, 'from' | 'uid' | 'resourceVersion'>;
}

/**
 * Finds the object that a reference names or selects, and reads one value of it.
 *
 * @param ref without placeholders
 * @param who the parameter that the value is for, as messages name it
 * @throws {@link Refused} `ValueNotFound`, `ValueAmbiguous`, `ValueInvalid`, `ValueForbidden`, `SecretRefused`; `KubeError`
 * when trying again may help
 */
export async function lookUpValue(
  ref: ManifestRef,
  context: LookupContext,
  who: string,
): Promise<FoundValue> {
  const object = await findObject(ref, context, who);
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const shown = `${ref.kind} "${namespace === undefined ? '' : `${namespace}/`}${name}"`;
  const path = readJsonPath(ref.jsonPath);
  if (!path.ok) return refuse('InvalidField', `${who}: jsonPath ${path.problem}`);
  const found = findByPath(path.steps, object).filter((value) => value !== undefined && value !== null);
  if (found.length === 0 || found.every((value) => value === '')) {
    return refuse('ValueNotFound', `${who}: ${shown} has no value at ${ref.jsonPath}; nothing was started`);
  }
  if (found.some((value) => Array.isArray(value) || isObject(value))) {
    return refuse(
      'ValueInvalid',
      `${who}: ${shown} has no single value at ${ref.jsonPath} but an object or a list; name a field of it`,
    );
  }
  // Several values are joined as kubectl prints them.
  const value = found.length === 1 ? (found[0] as Scalar) : found.map(String).join(' ');
  if (String(value).length > MAX_VALUE_CHARACTERS) {
    return refuse(
      'ValueInvalid',
      `${who}: ${shown} has ${String(value).length} characters at ${ref.jsonPath}; allowed are ${MAX_VALUE_CHARACTERS}`,
    );
  }
  return {
    value,
    source: {
      from: `${ref.apiVersion} ${shown} ${ref.jsonPath}`,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
  };
}

async function findObject(ref: ManifestRef, context: LookupContext, who: string): Promise<KubeObject> {
  const { apiVersion, kind, name = '', namespace = '', labelSelector = '' } = ref;
  // Refused in any case: a value of a Secret would be kept in the snapshot.
  if (kind.toLowerCase() === 'secret')
    return refuse('SecretRefused', `${who}: a Secret is no source of a parameter`);
  const where = `in namespace "${namespace}"`;
  try {
    const { namespaced } = await context.kube.resolve(apiVersion, kind);
    const scope = namespaced ? { namespace } : {};
    if (name !== '') {
      const object = await context.kube.get({ apiVersion, kind, name, ...scope });
      if (object !== undefined) return object;
      return refuse(
        'ValueNotFound',
        `${who}: there is no ${kind} "${name}" ${namespaced ? where : ''}; create it, or give the parameter a value in the execution`,
      );
    }
    const what = `${who}: ${labelSelector === '' ? `${kind}s` : `${kind}s with ${labelSelector}`} ${where}`;
    const selection = { ...scope, ...(labelSelector !== '' && { labelSelector }) };
    return await pick(listPages<KubeObject>(context.kube, { apiVersion, kind }, selection), ref, what);
  } catch (error) {
    if (!(error instanceof KubeError) || isRetryable(error)) throw error;
    const reason =
      error.code === 403
        ? 'ValueForbidden'
        : error.reason === 'KindNotFound'
          ? 'ValueNotFound'
          : 'ValueInvalid';
    const hint =
      error.code === 403
        ? `; looked up as ${context.identity}: give it the right to ${name === '' ? 'list' : 'get'} them, and the bridge the right to impersonate it`
        : '';
    return refuse(reason, `${who}: ${error.message}${hint}`);
  }
}

/** One of several: by age, ties by name, so that the choice is always the same. Only a few are held at a time. */
async function pick(
  pages: AsyncIterable<KubeList<KubeObject>>,
  { select = 'Last' }: ManifestRef,
  what: string,
): Promise<KubeObject> {
  const created = ({ metadata }: KubeObject): number => Date.parse(metadata.creationTimestamp ?? '') || 0;
  const sign = select === 'Last' ? -1 : 1;
  let first: KubeObject[] = [];
  let count = 0;
  for await (const { items } of pages) {
    count += items.length;
    if (count > MAX_MATCHES) {
      return refuse('ValueAmbiguous', `${what}: more than ${MAX_MATCHES}; narrow labelSelector`);
    }
    first = [...first, ...items]
      .sort((a, b) => sign * (created(a) - created(b) || (a.metadata.name < b.metadata.name ? -1 : 1)))
      .slice(0, NAMED_MATCHES);
  }
  const [chosen] = first;
  if (chosen === undefined) {
    return refuse('ValueNotFound', `${what}: there are none; nothing was started`);
  }
  if (select === 'Single' && count > 1) {
    const names = first.map(({ metadata }) => metadata.name);
    return refuse(
      'ValueAmbiguous',
      `${what}: select is Single, and there are ${count}: ${names.join(', ')}${count > names.length ? ', …' : ''}`,
    );
  }
  return chosen;
}
