/** What a person may answer a run that waits for one. */
export type PauseAnswer = 'retry' | 'skip' | 'abort';

/** The answers as help and the question before them tell them. */
export const PAUSE_ANSWERS: Record<PauseAnswer, { summary: string; effect: string }> = {
  retry: { summary: 'retry what failed in a paused run', effect: 'What failed in the stage is tried again.' },
  skip: {
    summary: 'skip what failed in a paused run',
    effect: 'What failed in the stage is left as it is, and the plan goes on.',
  },
  abort: {
    summary: 'end a paused run',
    effect: 'The run ends Failed, as it would have without the pause.',
  },
};
