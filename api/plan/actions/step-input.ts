/**
 * What workflow code carries out itself, without an activity that waits (docs/semantics.md#other-types). `ms` is there
 * when nothing is left to find out before the wait.
 */
export type StepInput =
  | { kind: 'timer'; ms?: number }
  | { kind: 'approval' }
  /** Without `timeoutMs` there is no limit. */
  | { kind: 'plan'; timeoutMs?: number };
