/** The activities of a worker: one line a system. */
import type { WorkerActivities } from '../workflows/plan/contract-tasks.js';
import { createActionActivities } from './actions/activities.js';
import type { ActivityDeps } from './core/deps.js';
import { createEntityActivities } from './core/entities.js';

/** Makes the activities of all systems. */
export const createActivities = (deps: ActivityDeps): WorkerActivities => ({
  ...createEntityActivities(deps.sealer),
  ...createActionActivities(deps),
});
