/** The activities that carry out actions, by name. Loads the schemas: for all but workflow code. */
import { ACTIVITY_TYPES } from './table.js';
import { activityOf, traitsOf } from './traits.js';
import type { ActivityName } from './traits.js';

/** The activities of all types. */
export const ACTION_ACTIVITIES: readonly ActivityName[] = ACTIVITY_TYPES.map((type) => activityOf(type));

/** Those that only wait. */
export const WAIT_ACTIVITIES: readonly ActivityName[] = ACTIVITY_TYPES.filter(
  (type) => traitsOf(type).isWait === true,
).map((type) => activityOf(type));
