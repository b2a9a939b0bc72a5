import { localizationSpec, globalizationSpec } from '../actions/clusternet-body.js';
import { modeText } from '../order/hooks.js';
import { isObject } from '../../core/json.js';
import { judgeOverride } from '../actions/override-effect.js';
import type { OverrideFault, OverrideObject, OverrideSources } from '../actions/override-effect.js';
import { mergeParameters } from '../template/parameters.js';
import type { Problem } from '../../core/problem.js';
import { RenderError, renderString } from '../template/render.js';
import type { RenderScope } from '../template/render.js';
import type { Action, DRPlan, DRPlanExecution, Scalar } from '../types.js';
import { warning } from '../../core/fields.js';
import type { WorkflowLookup } from './plan.js';

/** A Localization or Globalization that an action writes, with its values. */
export interface WrittenOverride extends OverrideObject {
  operation: string;
  /** Of the block in the action. */
  path: string;
  /** Of the body in the block: empty, or `.spec`. */
  body: string;
}

/** Values that are known where an action is used. */
export type KnownScope = Pick<RenderScope, 'params' | 'planName'> & Partial<RenderScope>;

/**
 * Overrides that the actions of a plan write, in the order of the plan. What is not known before an execution, or before
 * the run, is left out, and so is what is deleted.
 *
 * @param execution gives further values
 */
export function writtenOverrides(
  plan: DRPlan,
  lookup: WorkflowLookup,
  execution?: DRPlanExecution,
): WrittenOverride[] {
  const { name: planName, namespace: home = 'default' } = plan.metadata;
  const { stages, globalParams = [] } = plan.spec;
  const { mode, params = [] } = execution?.spec ?? {};
  return stages.flatMap((stage, s) =>
    stage.workflows.flatMap((use, w) => {
      const { name, namespace = '' } = use.workflowRef;
      const key = { namespace: namespace || home, name };
      const workflow = lookup(key.namespace, key.name);
      if (workflow === undefined) return [];
      const levels = {
        workflow: workflow.spec.parameters ?? [],
        plan: globalParams,
        stage: use.params ?? [],
        execution: params,
      };
      const scope: KnownScope = {
        params: mergeParameters(levels, { at: 'plan' }).values,
        planName,
        ...(execution !== undefined && {
          executionName: execution.metadata.name,
          operation: execution.spec.operationType,
        }),
        ...(mode !== undefined && { mode: modeText(mode) }),
      };
      const inside = `spec.stages[${s}].workflows[${w}].workflowRef(${key.namespace}/${key.name}).spec.actions`;
      return overridesIn(workflow.spec.actions, scope, inside);
    }),
  );
}

/** Overrides that actions write with these values. */
export function overridesIn(
  actions: readonly Action[],
  known: KnownScope | { params: Record<string, Scalar> },
  path: string,
): WrittenOverride[] {
  const scope = { planName: 'plan', executionName: 'execution', operation: 'Execute', ...known, outputs: {} };
  return actions.flatMap((action, index) => {
    try {
      const written = read(action, scope, `${path}[${index}]`);
      return written === undefined || written.operation === 'Delete' ? [] : [written];
    } catch (error) {
      if (error instanceof RenderError) return [];
      throw error;
    }
  });
}

function read(action: Action, scope: RenderScope, path: string): WrittenOverride | undefined {
  const { type, localization, globalization } = action;
  if (type === 'Localization' && localization !== undefined) {
    const body = localizationSpec(localization, scope);
    return body.ok
      ? {
          kind: 'Localization',
          name: renderString(localization.name, scope),
          namespace: renderString(localization.namespace, scope),
          operation: renderString(localization.operation ?? '', scope) || 'Create',
          spec: body.spec,
          path: `${path}.localization`,
          body: localization.spec === undefined ? '' : '.spec',
        }
      : undefined;
  }
  if (type === 'Globalization' && globalization !== undefined) {
    const body = globalizationSpec(globalization, scope);
    return body.ok
      ? {
          kind: 'Globalization',
          name: renderString(globalization.name, scope),
          operation: renderString(globalization.operation ?? '', scope) || 'Create',
          spec: body.spec,
          path: `${path}.globalization`,
          body: '.spec',
        }
      : undefined;
  }
  return undefined;
}

/**
 * Warns about overrides with a JSONPatch whose path does not exist: the action would be refused when it runs, as
 * Clusternet would pass over the patch without a word (S3.35). Each is judged after what the
 * ones before it in the list have written. An override without a target is passed over, as a plan may bring it.
 *
 * @param sources what is there about a feed; undefined where that cannot be read
 */
export function checkOverridePaths(
  overrides: readonly WrittenOverride[],
  sources: (override: WrittenOverride) => OverrideSources | undefined,
): Problem[] {
  const earlier: WrittenOverride[] = [];
  return overrides.flatMap((written) => {
    const found = sources(written);
    const known = found && withEarlier(written, found, earlier);
    const own = known && currentOf(written, known);
    const now = isObject(own?.spec) ? own.spec : {};
    const object = {
      ...written,
      spec: written.operation === 'Patch' ? { ...now, ...written.spec } : written.spec,
    };
    earlier.push(object);
    if (known?.target === undefined) return [];
    const { target } = known;
    const { fault, doubts } = judgeOverride(object, known);
    return [...(fault === undefined ? [] : [fault]), ...doubts]
      .filter(({ override }) => isOwn(written, override))
      .map((one) => problemOf(written, one, one === fault, target.name));
  });
}

/** A Patch that leaves the list alone keeps what is there. */
const isOwn = ({ spec }: WrittenOverride, index: number): boolean =>
  Array.isArray(spec.overrides) && index < spec.overrides.length;

function problemOf(
  { path, body, spec }: WrittenOverride,
  { override, name, detail }: OverrideFault,
  isFault: boolean,
  target: string,
): Problem {
  const which = name === '' ? '' : `"${name}": `;
  const feed = isObject(spec.feed) ? String(spec.feed.kind) : 'object';
  const effect = isFault
    ? 'as things are now the action will be refused, because Clusternet would not carry the patch out: correct the path, or use op add'
    : 'Clusternet v0.18 adds it, other versions may pass over the patch: use op add to be sure';
  return warning(
    `${path}${body}.overrides[${override}].value`,
    'PatchPathNotFound',
    `${which}${detail} (${feed} in ${target}); ${effect}`,
  );
}

/** The live object that a Patch changes. */
function currentOf({ kind, name }: WrittenOverride, sources: OverrideSources) {
  const list = kind === 'Localization' ? sources.local : sources.global;
  return list.find(({ metadata }) => metadata.name === name);
}

/** What is there, and what the plan will have written by then. */
function withEarlier(
  written: WrittenOverride,
  sources: OverrideSources,
  earlier: readonly WrittenOverride[],
): OverrideSources {
  const merge = (kind: OverrideObject['kind'], live: OverrideSources['local']): OverrideSources['local'] => {
    const own = earlier.filter(
      (one) => one.kind === kind && (kind === 'Globalization' || one.namespace === written.namespace),
    );
    const byName = new Map(live.map((one) => [one.metadata.name, one]));
    for (const { name, spec } of own) byName.set(name, { metadata: { name }, spec });
    return [...byName.values()];
  };
  return {
    ...sources,
    local: merge('Localization', sources.local),
    global: merge('Globalization', sources.global),
  };
}
