/** What a plan is going to do, without values (T6.1). */

/** What is done to a resource. */
export type ResourceAction = 'create' | 'update' | 'delete' | 'replace';

/** A resource that a plan changes. */
export interface PlannedResource {
  address: string;
  type: string;
  name: string;
  /** Absent in the root module. */
  module?: string;
  action: ResourceAction;
}

/** A plan in figures. A replacement counts as one to add and one to destroy. */
export interface PlanFacts {
  /** By the engine's exit code alone: outputs count too. */
  hasChanges: boolean;
  add: number;
  change: number;
  destroy: number;
  /** The first 200 that change, in the order of the plan. */
  resources: PlannedResource[];
  /** How many there are. */
  resourceCount: number;
  /** Names of outputs that change. */
  outputs: string[];
  /** Addresses that differ from what the state says, as a refresh found them; the first 50. */
  drifted: string[];
  driftedCount: number;
}

/** Longest address that is passed on, in characters: a `for_each` key may be as long as it likes. */
const MAX_ADDRESS = 1000;

/** An address, cut where it is too long; the same in the rows of a plan and in what moves. */
export const shortAddress = (address: string): string =>
  address.length > MAX_ADDRESS ? `${address.slice(0, MAX_ADDRESS)}…` : address;
