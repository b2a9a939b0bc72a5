import type { KubeClient, PatchKind } from '../../kube/client.js';
import type { KubeObject } from '../../kube/object.js';

/** What a run does: stages one after another, in each its workflows at once, in each its HTTP calls one after another. */
export interface RunShape {
  stages: number;
  /** Workflows of a stage. Default 1. */
  workflows?: number;
  /** HTTP calls of a workflow. */
  actions: number;
  /** Milliseconds before a call is answered: one number, or two for any between them. */
  delay?: number | readonly [number, number];
}

/** A run that can be created. Its calls go to `/NAME/STAGE/WORKFLOW/ACTION`. */
export interface PlannedRun {
  /** Of its plan too unless `plan` says another: a plan has one run at a time. */
  name: string;
  /** A plan that has been run before; its calls go by this name. */
  plan?: string;
  namespace: string;
  shape: RunShape;
  /** Runs of one variant share what `shared` makes. */
  variant: number;
  /** The recorder, without a slash at the end. */
  url: string;
}

/** Where a run stands. */
export type RunPhase = 'running' | 'succeeded' | 'failed' | 'cancelled';

/** A change that is sent to the API server. */
export interface Change {
  patch: unknown;
  kind: PatchKind;
  subresource?: 'status';
}

/** By what a controller shows that it has read an object and found it good. */
export interface Acceptance {
  /** Kind of the objects that are waited for. */
  type: { apiVersion: string; kind: string };
  isAccepted(object: KubeObject): boolean;
}

/** How one controller is spoken to. Objects in, objects out: all requests are made by the harness. */
export interface Peer {
  name: string;
  /** What it is called in the report. */
  title: string;
  /** What a run is. */
  runType: { apiVersion: string; kind: string };
  /** What is not there that it needs: one line each, with what to do. */
  missing(kube: KubeClient): Promise<string[]>;
  /** Objects that all runs of one shape and variant share. */
  shared(run: PlannedRun): KubeObject[];
  /** How these show that they were accepted. Absent: nothing has to be waited for. */
  sharedAccepted?: Acceptance;
  /** Objects that a run needs before it can be created. */
  plan(run: PlannedRun): KubeObject[];
  /** How a plan shows that it was accepted. Absent: nothing has to be waited for. */
  accepted?: Acceptance;
  /** The object whose creation starts the run. */
  run(run: PlannedRun): KubeObject;
  phase(object: KubeObject): RunPhase;
  /** Why a run ended as it did, as far as it says. */
  explain(object: KubeObject): string;
  /** Steps of an ended run that are not shown as ended; undefined where it shows none. */
  openSteps(object: KubeObject): number | undefined;
  /** Asks a run to stop. */
  cancel(object: KubeObject): Change;
}

/** Path of a call. */
export const callPath = (
  run: string,
  stage: number | string,
  workflow: number | string,
  action: number,
): string => `/${run}/${stage}/${workflow}/${action}`;

/** The query that makes the recorder wait. */
export function delayQuery({ delay }: RunShape): string {
  if (delay === undefined) return '';
  return `?delay=${typeof delay === 'number' ? delay : delay.join('-')}`;
}

/** Whether the server knows a kind. */
export async function hasKind(kube: KubeClient, apiVersion: string, kind: string): Promise<boolean> {
  return kube.resolve(apiVersion, kind).then(
    () => true,
    () => false,
  );
}
