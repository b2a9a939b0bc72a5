import { activityInfo } from '@temporalio/activity';

/** Seconds since Temporal was asked for the activity that runs now; its clock may differ a little from ours. */
export const sinceScheduled = (): number =>
  Math.max(0, (Date.now() - activityInfo().scheduledTimestampMs) / 1000);
