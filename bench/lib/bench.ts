import type { Peer } from '../peers/peer.js';
import type { Figure } from './figures.js';
import type { Progress } from './progress.js';
import type { Recorder } from './recorder.js';
import type { System } from './system.js';

/** What a scenario works with. */
export interface Bench {
  system: System;
  peer: Peer;
  recorder: Recorder;
  progress: Progress;
  /** Sizes, by name: those that the scenario declares, as they were chosen. */
  size(name: string): number;
  /** Commands that end and start the controller of a cluster that somebody else looks after. */
  commands: { kill?: string; restart?: string };
  /** A new, empty namespace; removed after the repetition. */
  namespace(): Promise<string>;
  /** Keeps a remark beside the figures. */
  note(text: string): void;
}

/** Something that is measured. */
export interface Scenario {
  name: string;
  /** One line. */
  summary: string;
  /** Sizes that can be changed, with their defaults, each with what it means. */
  sizes: Record<string, { value: number; meaning: string }>;
  /** Whether other controllers can be measured by it too. */
  peers?: boolean;
  /** Needs processes of the embedded default, or commands that stand in for that. */
  needs?: 'embedded' | 'processes' | 'temporal';
  /** Each repetition leaves so much behind that the next one gets a system of its own. */
  fresh?: boolean;
  /** Takes so long that once is enough unless more is asked for. */
  once?: boolean;
  run(bench: Bench): Promise<Figure[]>;
}
