import { bridgeActivities } from '../core/bridge-activities.js';
import { startMirror } from '../core/mirror.js';
import type { Mirror, MirrorSetup } from '../core/mirror.js';
import type { RunIdentity, RunMirrorOptions } from './contract.js';
import type { BridgeActivities } from './contract-bridge.js';
import { envelopeOf } from './contract-updates.js';
import type { MirrorUpdate } from './contract-updates.js';

/** What the run, or one of its stages, says about itself. */
export type RunContent = Omit<MirrorUpdate, 'run' | 'from' | 'sequence'>;

/** The mirror of a run, or of one of its stages. */
export type RunMirror = Mirror<RunContent, RunMirrorOptions>;

/** What the mirror of a run is made of. */
export interface RunMirrorSetup extends Omit<MirrorSetup<RunContent, RunMirrorOptions>, 'send'> {
  run: RunIdentity;
  /** `run` for the parent, else the index of the stage that speaks. */
  from: MirrorUpdate['from'];
}

/** Mirrors a run, or one of its stages, into the status of its execution. The rules are those of {@link startMirror}. */
export function startRunMirror({ run, from, ...setup }: RunMirrorSetup): RunMirror {
  const { mirror } = bridgeActivities<BridgeActivities>(run, 'status');
  return startMirror<RunContent, RunMirrorOptions>({
    ...setup,
    // A bridge of an earlier release has begun it, and may still be the one that writes.
    send: (content, sequence) =>
      setup.options.envelope === true
        ? mirror(envelopeOf(run, from, sequence, content))
        : mirror({ run, from, sequence, ...content }),
  });
}
