/** What the JSON of a plan says, read as a stream: `show -json` of a saved plan (T4.4, T6.1). */
import type { Refusal } from '../core/refusal.js';
import { MAX_RESOURCE_ROWS } from './bounds.js';
import { createPlaceReader, type FoundValue } from './json-paths.js';
import { shortAddress, type PlanFacts, type PlannedResource, type ResourceAction } from './plan-facts.js';

/** Everything but `hasChanges`, which the engine's exit code alone decides. */
export type PlanReading = { plan: Omit<PlanFacts, 'hasChanges'> } | Refusal;

/** Looks through the JSON of a plan, chunk by chunk. */
export interface PlanReader {
  push(chunk: Uint8Array): boolean;
  /** Refusal `UnknownPlanFormat` where it is no plan that is understood. */
  end(): PlanReading;
}

/** The major version of the format that is understood; minor ones only add fields. */
const FORMAT = /^1\.\d+$/;
const MAX_DRIFTED = 50;
const MAX_OUTPUTS = 200;

const PLACES = {
  format: ['format_version'],
  resource: ['resource_changes', '[]'],
  address: ['resource_changes', '[]', 'address'],
  module: ['resource_changes', '[]', 'module_address'],
  mode: ['resource_changes', '[]', 'mode'],
  type: ['resource_changes', '[]', 'type'],
  resourceName: ['resource_changes', '[]', 'name'],
  action: ['resource_changes', '[]', 'change', 'actions', '[]'],
  outputAction: ['output_changes', '{}', 'actions', '[]'],
  drifted: ['resource_drift', '[]', 'address'],
} as const;

/** A reader for the JSON of one plan. */
export function createPlanReader(): PlanReader {
  const plan: Omit<PlanFacts, 'hasChanges'> = {
    add: 0,
    change: 0,
    destroy: 0,
    resources: [],
    resourceCount: 0,
    outputs: [],
    drifted: [],
    driftedCount: 0,
  };
  let format: unknown;
  let resource: Partial<Record<'address' | 'module' | 'mode' | 'type' | 'resourceName', string>> = {};
  let actions: string[] = [];
  const outputs = new Set<string>();
  const reader = createPlaceReader(PLACES, (found) => {
    const value = textOf(found);
    switch (found.name) {
      case 'format':
        format = value;
        return;
      case 'action':
        actions.push(value ?? '');
        return;
      case 'resource':
        count(plan, resource, actions);
        resource = {};
        actions = [];
        return;
      case 'outputAction':
        if (value !== 'no-op' && outputs.size < MAX_OUTPUTS) outputs.add(shortAddress(String(found.at[0])));
        return;
      case 'drifted':
        plan.driftedCount += 1;
        if (plan.drifted.length < MAX_DRIFTED) plan.drifted.push(shortAddress(value ?? ''));
        return;
      case 'address':
      case 'module':
      case 'mode':
      case 'type':
      case 'resourceName':
        if (value !== undefined) resource[found.name] = value;
    }
  });
  return {
    push: (chunk) => reader.push(chunk),
    end() {
      const problem = reader.end();
      if (problem !== undefined) return unknownFormat(`it is no JSON: ${problem}`);
      if (typeof format !== 'string' || !FORMAT.test(format)) {
        return unknownFormat(`its format_version is ${JSON.stringify(format) ?? 'not said'}`);
      }
      return { plan: { ...plan, outputs: [...outputs] } };
    },
  };
}

const unknownFormat = (what: string): Refusal => ({
  reason: 'UnknownPlanFormat',
  message: `the engine's JSON of the plan cannot be read: ${what}; understood is format_version 1.x`,
});

const textOf = ({ text }: FoundValue<string>): string | undefined => {
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  return typeof value === 'string' ? value : undefined;
};

function count(
  plan: Omit<PlanFacts, 'hasChanges'>,
  resource: Partial<Record<'address' | 'module' | 'mode' | 'type' | 'resourceName', string>>,
  actions: readonly string[],
): void {
  const action = actionOf(actions);
  if (action === undefined || resource.mode === 'data') return;
  if (action === 'create' || action === 'replace') plan.add += 1;
  if (action === 'update') plan.change += 1;
  if (action === 'delete' || action === 'replace') plan.destroy += 1;
  plan.resourceCount += 1;
  if (plan.resources.length >= MAX_RESOURCE_ROWS) return;
  const row: PlannedResource = {
    address: shortAddress(resource.address ?? ''),
    type: resource.type ?? '',
    name: resource.resourceName ?? '',
    ...(resource.module !== undefined && { module: shortAddress(resource.module) }),
    action,
  };
  plan.resources.push(row);
}

/** What is done to a resource; undefined where nothing outside the state is: no-op, read, forget. */
function actionOf(actions: readonly string[]): ResourceAction | undefined {
  const isCreated = actions.includes('create');
  const isDeleted = actions.includes('delete');
  if (isCreated && isDeleted) return 'replace';
  if (isCreated) return 'create';
  if (isDeleted) return 'delete';
  return actions.includes('update') ? 'update' : undefined;
}
