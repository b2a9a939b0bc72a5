/** Words that everything about operations shares. */

/** SHA-256 in 64 lower-case hexadecimal digits. */
export type Digest = string;

/** `<uid>-plan-<n>` or `<uid>-apply`, by the uid of the run. */
export type OperationId = string;

/** What an operation is: `plan` writes nothing outside its folder, `apply` is begun once and never again. */
export type OperationKind = 'plan' | 'apply';

/** The id of a run's n-th plan, or of its one apply (T7.1). */
export function operationId(
  run: string,
  operation: { kind: 'plan'; n: number } | { kind: 'apply' },
): OperationId {
  return operation.kind === 'plan' ? `${run}-plan-${operation.n}` : `${run}-apply`;
}

const OPERATION_ID = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(?:plan-([1-9]\d{0,5})|apply)$/;

/** What an id says; undefined for a text that is none. */
export function parseOperationId(id: string): { run: string; kind: OperationKind; n?: number } | undefined {
  const [, run, n] = OPERATION_ID.exec(id) ?? [];
  if (run === undefined) return undefined;
  return n === undefined ? { run, kind: 'apply' } : { run, kind: 'plan', n: Number(n) };
}

/** Steps of an operation: the stages of a run that it goes through (T4.1). */
export const OPERATION_STEPS = [
  'fetching',
  'init',
  'planning',
  'saving_plan',
  'restoring_plan',
  'applying',
  'saving_state',
] as const;
/** One of {@link OPERATION_STEPS}. */
export type OperationStep = (typeof OPERATION_STEPS)[number];

/**
 * What an operation reads and writes besides state. Those of a run are one set: `planFile`, `planJson` and `planLockFile`
 * are written by its plan, and an apply reads the first and the last. `planFile`, `planJson` of an earlier plan of the run
 * are discarded when a later one is prepared.
 */
export const ARTEFACTS = [
  'archive',
  'variables',
  'lockFile',
  'planFile',
  'planJson',
  'planLockFile',
] as const;
/** One of {@link ARTEFACTS}. */
export type ArtefactName = (typeof ARTEFACTS)[number];

/** Artefacts that a plan writes. The server refuses others, and any from an apply. */
export const WRITTEN_ARTEFACTS = ['planFile', 'planJson', 'planLockFile'] as const satisfies ArtefactName[];

/** One variable of a snapshot, its value filled in. The artefact `variables` is a JSON list of them. */
export interface Variable {
  key: string;
  value: string;
  variableType: 'terraform' | 'environment';
  /** `hcl`: an expression of the engine's language. Only of `terraform` variables. */
  valueFormat: 'string' | 'hcl';
  sensitive: boolean;
}

/** Which process runs an operation: no other process ever has the same (T7.5). */
export interface RunnerIdentity {
  /** Kept in the work folder of the host; in a Job the pod's uid. */
  hostId: string;
  /** Of the kernel; changes at every boot. */
  bootId: string;
  pid: number;
  /** When the process began, in the kernel's own unit. */
  startTime: string;
}

/** Streams of an operation's log: what the engine writes to its standard output and error, secrets redacted. */
export const LOG_STREAMS = ['out', 'err'] as const;
/** One of {@link LOG_STREAMS}. */
export type LogStream = (typeof LOG_STREAMS)[number];
