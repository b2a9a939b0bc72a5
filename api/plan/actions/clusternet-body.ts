/** Bodies of Clusternet's objects, from the flat form of an action or from its nested `spec`. */
import { isObject } from '../../core/json.js';
import { renderBody, renderValue } from '../template/render.js';
import type { RenderScope } from '../template/render.js';
import type {
  GlobalizationAction,
  HelmChartAction,
  LocalizationAction,
  SubscriptionAction,
} from '../types.js';

/** A rendered spec, or what is wrong with the form it is written in. */
export type Body =
  | { ok: true; spec: Record<string, unknown> }
  | { ok: false; reason: string; message: string };

const LOCALIZATION_FIELDS = ['overridePolicy', 'priority', 'feed', 'overrides'] as const;
const SUBSCRIPTION_FIELDS = ['feeds', 'subscribers', 'schedulingStrategy'] as const;

/** The spec of a Localization; values of overrides are filled in by their own structure. */
export function localizationSpec(block: LocalizationAction, scope: RenderScope): Body {
  return overrideSpec(choose(block, LOCALIZATION_FIELDS), scope);
}

/** The spec of a Globalization, which is written nested only. */
export function globalizationSpec(block: GlobalizationAction, scope: RenderScope): Body {
  return overrideSpec(choose(block, []), scope);
}

/** The spec of a HelmChart, which is written nested only. */
export function helmChartSpec(block: HelmChartAction, scope: RenderScope): Body {
  const written = choose(block, []);
  return written.ok
    ? { ok: true, spec: renderValue(written.spec, scope) as Record<string, unknown> }
    : written;
}

function overrideSpec(written: Body, scope: RenderScope): Body {
  if (!written.ok) return written;
  const { overrides, ...rest } = written.spec;
  const spec = renderValue(rest, scope) as Record<string, unknown>;
  if (overrides === undefined) return { ok: true, spec };
  return { ok: true, spec: { ...spec, overrides: renderOverrides(overrides, scope) } };
}

/** The spec of a Subscription. */
export function subscriptionSpec(block: SubscriptionAction, scope: RenderScope): Body {
  const written = choose(block, SUBSCRIPTION_FIELDS);
  return written.ok
    ? { ok: true, spec: renderValue(written.spec, scope) as Record<string, unknown> }
    : written;
}

function renderOverrides(overrides: unknown, scope: RenderScope): unknown {
  if (!Array.isArray(overrides)) return renderValue(overrides, scope);
  return (overrides as unknown[]).map((override) => {
    if (!isObject(override) || typeof override.value !== 'string') return renderValue(override, scope);
    const { value, ...rest } = override;
    const rendered = renderValue(rest, scope) as Record<string, unknown>;
    return { ...rendered, value: renderBody(value, scope, 'application/yaml') };
  });
}

function choose(block: Record<string, unknown>, fields: readonly string[]): Body {
  const flat = fields.filter((field) => block[field] !== undefined);
  if (block.spec === undefined || block.spec === null) {
    return { ok: true, spec: Object.fromEntries(flat.map((field) => [field, block[field]])) };
  }
  if (!isObject(block.spec)) return { ok: false, reason: 'InvalidSpec', message: 'spec is not a map' };
  if (flat.length > 0) {
    return {
      ok: false,
      reason: 'InvalidSpec',
      message: `both spec and ${flat.join(', ')} are written; write everything into spec, or leave spec out`,
    };
  }
  return { ok: true, spec: block.spec };
}
