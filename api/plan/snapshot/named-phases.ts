import { unpackPhases } from './packed-phases.js';
import type { ActionAddress, OutputViews } from './run.js';
import { workflowAt, workflowKey } from './snapshot.js';
import type { Snapshot } from './snapshot.js';

/** What a task shows of other actions, as it is carried. */
interface Carried {
  at: ActionAddress;
  outputs: OutputViews;
  phases: Record<string, string>;
  packedPhases?: string;
}

/**
 * A task with the phases of all other actions by name, where it carries them by position: a condition goes through them.
 * The outputs of each show its phase too.
 *
 * @throws Error when the snapshot is not that of the task's run
 */
export function withNamedPhases<T extends Carried>(task: T, snapshot: Snapshot): T {
  const { at, packedPhases } = task;
  if (packedPhases === undefined) return task;
  const ref = workflowAt(snapshot, at);
  const actions = (ref && snapshot.workflows[workflowKey(ref)]?.spec.actions) ?? [];
  const names = actions.map(({ name }) => name);
  const all = unpackPhases(packedPhases, names);
  const phases = Object.fromEntries(Object.entries(all).filter(([name]) => name !== names[at.action]));
  const outputs = Object.fromEntries(
    Object.entries(phases).map(([name, phase]) => [name, task.outputs[name] ?? { phase }]),
  );
  return { ...task, phases, outputs };
}
