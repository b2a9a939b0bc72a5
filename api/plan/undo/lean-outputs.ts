/**
 * The outputs of an action may name the same objects up to three times: as the objects written, as those that are new,
 * and, if there is only one, in a field of its own. They travel once.
 */
import type { ActionOutputs, ObjectReference } from '../types.js';

const SINGLE = [
  'resourceRef',
  'localizationRef',
  'globalizationRef',
  'helmChartRef',
  'subscriptionRef',
] as const;

/** A field that is left out because `created`, or else `resourceRefs`, says the same. */
export type SameOutput = (typeof SINGLE)[number] | 'resourceRefs';

/** Outputs as they travel. */
export interface LeanOutputs {
  outputs: ActionOutputs;
  same?: SameOutput[];
}

/** Outputs without the fields that repeat others. */
export function leanOutputs(whole: ActionOutputs): LeanOutputs {
  const outputs = { ...whole };
  const same: SameOutput[] = [];
  const [only, ...others] = listOf(outputs) ?? [];
  for (const field of SINGLE) {
    if (only === undefined || others.length > 0 || !isSame(outputs[field], only)) continue;
    delete outputs[field];
    same.push(field);
  }
  if (outputs.created !== undefined && isSame(outputs.resourceRefs, outputs.created)) {
    delete outputs.resourceRefs;
    same.push('resourceRefs');
  }
  return { outputs, ...(same.length > 0 && { same }) };
}

/** The opposite of {@link leanOutputs}. */
export function wholeOutputs({ outputs, same = [] }: LeanOutputs): ActionOutputs {
  const list = listOf(outputs);
  if (list === undefined) return outputs;
  const said = same.map((field) => [field, field === 'resourceRefs' ? list : list[0]] as const);
  return { ...Object.fromEntries(said), ...outputs };
}

const listOf = ({ created, resourceRefs }: ActionOutputs): ObjectReference[] | undefined =>
  created ?? resourceRefs;

const isSame = (one: unknown, other: unknown): boolean =>
  one !== undefined && JSON.stringify(one) === JSON.stringify(other);
