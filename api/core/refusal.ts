/** Why something that was asked for is not done: nothing of it was begun. */
export interface Refusal {
  /** CamelCase, stable: also in conditions, Events and metrics. */
  reason: string;
  message: string;
}
