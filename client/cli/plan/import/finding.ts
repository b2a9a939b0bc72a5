import type { DrObject } from '../manifests/objects.js';

/**
 * What a finding means for the person who moves:
 *
 * - `blocked`: the object is refused or Invalid until a person changes it;
 * - `differs`: it is accepted and behaves differently than under the original;
 * - `changed`: the conversion takes care of it;
 * - `note`: good to know.
 */
export type Effect = 'blocked' | 'differs' | 'changed' | 'note';

/** Something that would be different. */
export interface Finding {
  effect: Effect;
  /** Stable CamelCase code. */
  code: string;
  path: string;
  message: string;
}

/** One change of a conversion. */
export type Edit =
  | { op: 'set'; path: readonly (string | number)[]; value: unknown }
  | { op: 'remove'; path: readonly (string | number)[] };

/** What a person has decided beforehand. */
export interface ImportChoices {
  /** ServiceAccount for plans that name none. */
  serviceAccount?: string | undefined;
  /** Timeout for Jobs whose timeout is the stored default. */
  jobTimeout?: string | undefined;
  /** Take values that equal the original's stored defaults for stored defaults, also where nothing proves it. */
  dropStoredDefaults?: boolean | undefined;
}

/** Whether a value was written by a person: the original's CRDs and webhooks fill in defaults that look the same. */
export type Written = 'yes' | 'no' | 'unknown';

/** What rules get. */
export interface RuleInput {
  object: DrObject;
  choices: ImportChoices;
  written: (path: readonly (string | number)[]) => Written;
  /** All objects that were read, for what several say together. */
  all: readonly DrObject[];
}

/** What rules give. */
export interface RuleOutput {
  findings: Finding[];
  edits: Edit[];
}
