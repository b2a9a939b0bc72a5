/** Looks up the values of parameters that are taken from objects, once, before a run starts (S1.23). */
import { modeText } from '../../../api/plan/order/hooks.js';
import { isObject } from '../../../api/core/json.js';
import { findByPath, readJsonPath } from '../../../api/core/json-path.js';
import { RenderError, renderString } from '../../../api/plan/template/render.js';
import type { ResolvedValue, Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import type { Parameter, Scalar } from '../../../api/plan/types.js';
import { isPending } from '../../../api/plan/template/value-from.js';
import type { ManifestRef } from '../../../api/plan/template/value-from.js';
import type { KubeClient, KubeList } from '../../../kube/client.js';
import { isRetryable, KubeError } from '../../../kube/error.js';
import type { KubeObject } from '../../../kube/object.js';
import { listPages } from '../../../kube/pages.js';
import { refuse } from './refused.js';

/** Most objects that a selector may match; more are most likely a mistake. */
const MAX_MATCHES = 5000;
/** Most names shown when several objects match where one is asked for. */
const NAMED_MATCHES = 5;
const MAX_VALUE_CHARACTERS = 4096;

/** Who looks, and for whom. */
export interface ResolveContext {
  /** As the identity that the run acts as. */
  kube: KubeClient;
  /** Whom {@link kube} acts as, for messages. */
  identity: string;
  namespace: string;
  executionName: string;
}

type Values = Record<string, Scalar>;

/**
 * A snapshot whose parameters are all plain values, used for the run, its retries and its revert. An entry that a
 * higher level overrides is not looked up. Placeholders in a reference see the plain values of plan and execution, and
 * what has been looked up for lower levels.
 *
 * @throws {@link Refused} `ValueNotFound`, `ValueAmbiguous`, `ValueInvalid`, `ValueForbidden`; `KubeError` when trying
 * again may help
 */
export async function resolveValues(snapshot: Snapshot, context: ResolveContext): Promise<Snapshot> {
  if (!hasPending(snapshot)) return snapshot;
  const { spec } = snapshot.plan;
  const { globalParams = [] } = spec;
  const given = new Set(snapshot.params.filter(givesValue).map(({ name }) => name));
  const resolved: ResolvedValue[] = [...(snapshot.resolved ?? [])];
  const cache = new Map<string, Promise<Found>>();

  /** The entries as plain values. */
  async function plain(
    entries: readonly Parameter[],
    path: string,
    values: Values,
    top: boolean,
  ): Promise<Parameter[]> {
    const result: Parameter[] = [];
    for (const [index, entry] of entries.entries()) {
      const { valueFrom, ...rest } = entry;
      const ref = valueFrom?.manifestRef;
      if (ref === undefined || (!top && given.has(entry.name))) {
        result.push(rest);
        continue;
      }
      const at = `${path}[${index}]`;
      const wanted = render(ref, values, entry.name, at);
      const key = JSON.stringify(wanted);
      const looking = cache.get(key) ?? lookUp(wanted, context, `parameter "${entry.name}" (${at})`);
      cache.set(key, looking);
      const { value, source } = await looking;
      result.push({ ...rest, value });
      resolved.push({ path: at, name: entry.name, ...source });
    }
    return result;
  }

  function render(ref: ManifestRef, params: Values, name: string, at: string): ManifestRef {
    const { plan, operation, mode } = snapshot;
    const scope = {
      params,
      planName: plan.name,
      executionName: context.executionName,
      operation,
      ...(mode !== undefined && { mode: modeText(mode) }),
      outputs: {},
    };
    const text = (template: string | undefined): string => renderString(template ?? '', scope).trim();
    try {
      return {
        ...ref,
        namespace: text(ref.namespace) || context.namespace,
        name: text(ref.name),
        labelSelector: text(ref.labelSelector),
      };
    } catch (error) {
      if (!(error instanceof RenderError)) throw error;
      return refuse(error.reason, `parameter "${name}" (${at}.valueFrom.manifestRef): ${error.message}`);
    }
  }

  const base = { ...literals(globalParams), ...literals(snapshot.params) };
  const global = await plain(globalParams, 'plan.spec.globalParams', base, false);
  const withGlobal = { ...literals(global), ...literals(snapshot.params) };
  const params = await plain(snapshot.params, 'execution.spec.params', withGlobal, true);
  const stages = [];
  for (const [s, stage] of spec.stages.entries()) {
    const workflows = [];
    for (const [w, use] of stage.workflows.entries()) {
      const values = { ...literals(global), ...literals(use.params ?? []), ...literals(params) };
      const own =
        use.params &&
        (await plain(use.params, `plan.spec.stages[${s}].workflows[${w}].params`, values, false));
      workflows.push({ ...use, ...(own !== undefined && { params: own }) });
    }
    stages.push({ ...stage, workflows });
  }
  return {
    ...snapshot,
    plan: {
      ...snapshot.plan,
      spec: { ...spec, stages, ...(spec.globalParams !== undefined && { globalParams: global }) },
    },
    params,
    resolved,
  };
}

/** Whether a value has to be looked up. */
export const hasPending = ({ plan, params }: Snapshot): boolean =>
  [
    ...params,
    ...(plan.spec.globalParams ?? []),
    ...plan.spec.stages.flatMap(({ workflows }) => workflows.flatMap((use) => use.params ?? [])),
  ].some(isPending);

const givesValue = (entry: Parameter): boolean =>
  isPending(entry) || (entry.value ?? entry.default ?? undefined) !== undefined;

function literals(entries: readonly Parameter[]): Values {
  const values = Object.create(null) as Values;
  for (const entry of entries) {
    const value = entry.value ?? entry.default;
    if (!isPending(entry) && value !== undefined && value !== null) values[entry.name] = value;
  }
  return values;
}

interface Found {
  value: Scalar;
  source: Pick<ResolvedValue, 'from' | 'uid' | 'resourceVersion'>;
}

async function lookUp(ref: ManifestRef, context: ResolveContext, who: string): Promise<Found> {
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

async function findObject(ref: ManifestRef, context: ResolveContext, who: string): Promise<KubeObject> {
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
