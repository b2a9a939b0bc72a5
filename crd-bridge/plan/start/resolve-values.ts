/** Looks up the values of parameters that are taken from objects, once, before a run starts (S1.23). */
import { modeText } from '../../../api/plan/order/hooks.js';
import type { ResolvedValue, Snapshot } from '../../../api/plan/snapshot/snapshot.js';
import { RenderError, renderString } from '../../../api/plan/template/render.js';
import { isPending } from '../../../api/plan/template/value-from.js';
import type { ManifestRef } from '../../../api/plan/template/value-from.js';
import type { Parameter, Scalar, Stage } from '../../../api/plan/types.js';
import { lookUpValue } from './look-up-value.js';
import type { FoundValue, LookupContext } from './look-up-value.js';
import { refuse } from './refused.js';

/** Who looks, and for which execution. */
export interface ResolveContext extends LookupContext {
  /** Where objects are looked up whose reference names no namespace. */
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
  const resolver = createResolver(snapshot, context);

  const global = await resolver.plain(globalParams, {
    path: 'plan.spec.globalParams',
    values: { ...literals(globalParams), ...literals(snapshot.params) },
    overridden: given,
  });
  const params = await resolver.plain(snapshot.params, {
    path: 'execution.spec.params',
    values: { ...literals(global), ...literals(snapshot.params) },
  });
  const stages: Stage[] = [];
  for (const [s, stage] of spec.stages.entries()) {
    const workflows: Stage['workflows'] = [];
    for (const [w, use] of stage.workflows.entries()) {
      const own =
        use.params &&
        (await resolver.plain(use.params, {
          path: `plan.spec.stages[${s}].workflows[${w}].params`,
          values: { ...literals(global), ...literals(use.params), ...literals(params) },
          overridden: given,
        }));
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
    resolved: [...(snapshot.resolved ?? []), ...resolver.sources],
  };
}

/** Whether a value has to be looked up. */
export const hasPending = ({ plan, params }: Snapshot): boolean =>
  [
    ...params,
    ...(plan.spec.globalParams ?? []),
    ...plan.spec.stages.flatMap(({ workflows }) => workflows.flatMap((use) => use.params ?? [])),
  ].some(isPending);

/** Looks values up for one snapshot. */
interface Resolver {
  /**
   * The entries of one level as plain values.
   *
   * @param level.values what placeholders in references see
   * @param level.overridden names whose entries do not count, as a higher level gives them a value
   */
  plain(
    entries: readonly Parameter[],
    level: { path: string; values: Values; overridden?: ReadonlySet<string> },
  ): Promise<Parameter[]>;
  /** Where each value came from, in the order of looking. */
  readonly sources: readonly ResolvedValue[];
}

/** A resolver that looks each reference up once, however many entries have it. */
function createResolver(snapshot: Snapshot, context: ResolveContext): Resolver {
  const { plan, operation, mode } = snapshot;
  const scope = {
    planName: plan.name,
    executionName: context.executionName,
    operation,
    ...(mode !== undefined && { mode: modeText(mode) }),
    outputs: {},
  };
  const lookups = new Map<string, Promise<FoundValue>>();
  const sources: ResolvedValue[] = [];

  /** The reference with its placeholders filled in. */
  function render(ref: ManifestRef, params: Values, who: string): ManifestRef {
    const text = (template = ''): string => renderString(template, { ...scope, params }).trim();
    try {
      return {
        ...ref,
        namespace: text(ref.namespace) || context.namespace,
        name: text(ref.name),
        labelSelector: text(ref.labelSelector),
      };
    } catch (error) {
      if (!(error instanceof RenderError)) throw error;
      return refuse(error.reason, `${who}: ${error.message}`);
    }
  }

  function lookUp(ref: ManifestRef, who: string): Promise<FoundValue> {
    const key = JSON.stringify(ref);
    const looking = lookups.get(key) ?? lookUpValue(ref, context, who);
    lookups.set(key, looking);
    return looking;
  }

  return {
    sources,
    async plain(entries, { path, values, overridden }) {
      const result: Parameter[] = [];
      for (const [index, { valueFrom, ...rest }] of entries.entries()) {
        const { name } = rest;
        const ref = valueFrom?.manifestRef;
        if (ref === undefined || overridden?.has(name) === true) {
          result.push(rest);
          continue;
        }
        const at = `${path}[${index}]`;
        const wanted = render(ref, values, `parameter "${name}" (${at}.valueFrom.manifestRef)`);
        const { value, source } = await lookUp(wanted, `parameter "${name}" (${at})`);
        result.push({ ...rest, value });
        sources.push({ path: at, name, ...source });
      }
      return result;
    },
  };
}

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
