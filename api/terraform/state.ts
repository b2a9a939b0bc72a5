/** What is known of a state without reading its resources. */
export interface StateFacts {
  lineage: string;
  serial: number;
  /** Of the engine that wrote it, as it says. */
  engineVersion: string;
  bytes: number;
}
