/** Something wrong with what is written; nothing was done. */
export interface Refusal {
  reason: string;
  message: string;
}
