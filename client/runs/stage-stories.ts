/** Reads the histories of stages for a handle on runs: one at a time, and those of closed stages once. */
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import type { Unfinished } from '../../workflows/plan/contract-bridge.js';
import { orNone } from './calls.js';
import type { Call } from './calls.js';
import { readStage } from './stage-history.js';
import type { StageRef, StageStory } from './stage-history.js';

/** What the history of a stage says about its actions. */
export type StageActions = Pick<StageStory, 'begun' | 'ended'>;

/** What the histories of stages say. */
export interface StageStories {
  /** Which actions a stage has begun, and how those that have ended did. Empty where Temporal knows no such workflow. */
  actions(stage: StageRef): Promise<StageActions>;
  /** What a stage has begun and not ended. Empty where Temporal knows no such workflow. */
  unfinished(stage: StageRef): Promise<Unfinished>;
}

/** Characters of closed stages' actions that are kept. */
const MAX_KEPT_CHARACTERS = 5_000_000;

/** Stories over a client. */
export function createStageStories(client: Client, call: Call): StageStories {
  /** Of closed stages, by run: they are asked for several times, and a history may be long. */
  const kept = new LRUCache<string, StageActions>({
    maxSize: MAX_KEPT_CHARACTERS,
    sizeCalculation: (actions) => JSON.stringify(actions).length,
  });
  const describe = ({ workflowId, runId }: StageRef): Promise<WorkflowExecutionDescription> =>
    call(() => client.workflow.getHandle(workflowId, runId).describe());
  // One after the other: the memory of what was read is freed only some time later.
  let lastRead: Promise<unknown> = Promise.resolve();

  /** @returns undefined where Temporal knows no such workflow */
  function read(stage: StageRef): Promise<StageStory | undefined> {
    const work = async (): Promise<StageStory | undefined> => {
      const { status, runId } = await describe(stage);
      const story = await readStage(client, { ...stage, runId });
      if (status.name !== 'RUNNING') kept.set(runId, { begun: story.begun, ended: story.ended });
      return story;
    };
    const reading = lastRead.then(() => orNone(work));
    lastRead = reading.catch(() => undefined);
    return reading;
  }

  return {
    async actions(stage) {
      const found = await orNone(() => describe(stage));
      if (found === undefined) return { begun: [], ended: [] };
      return kept.get(found.runId) ?? (await read(stage)) ?? { begun: [], ended: [] };
    },
    async unfinished(stage) {
      return (await read(stage))?.unfinished ?? { actions: [], plans: [] };
    },
  };
}
