import type { Problem } from '../../../../api/core/problem.js';
import type { DRPlan, DRWorkflow } from '../../../../api/plan/types.js';
import type { SourcesOf } from './override-sources.js';

/** Objects that are not among the files. */
export interface Surroundings {
  workflow(namespace: string, name: string): DRWorkflow | undefined;
  plan(namespace: string, name: string): DRPlan | undefined;
  /**
   * What the cluster says against a workflow or a plan: its definitions against what is written, and that there is no
   * account of the name; absent: it is not known.
   */
  fields?: (object: unknown) => readonly Problem[];
  /** What is known about the feeds of overrides; absent: nothing is said about their paths. */
  overrides?: SourcesOf;
  /** Whether what is not found does not exist: false where only files were read. */
  complete: boolean;
}

/** Nothing but the files. */
export const NO_SURROUNDINGS: Surroundings = {
  workflow: () => undefined,
  plan: () => undefined,
  complete: false,
};
