/** What bridge, worker, activities and workflows of all systems agree on. Free of anything that cannot run in the sandbox. */

/** One step of an object's state on its way into status (docs/adr/0004-mirror-merge.md). */
export interface MirrorEnvelope<U = unknown> {
  /** Which row of the bridge's table it is for. */
  kind: string;
  object: { namespace: string; name: string; uid: string };
  /** Rises each time that a new run takes the object over; 1 for a kind that has one run an object. */
  epoch: number;
  /** Who in the run speaks. */
  speaker: string;
  /** Rises with every update of one speaker in one epoch. */
  sequence: number;
  update: U;
}
