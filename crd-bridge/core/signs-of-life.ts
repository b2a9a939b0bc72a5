import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/** How often an activity of the bridge gives a sign of life; one that is quicker than this gives none. */
export const SIGN_OF_LIFE_MS = 1_000;

/**
 * Heartbeats while an activity of the bridge is under way: one whose bridge has died is handed to another within seconds,
 * and one that is slow, under load, is not taken for lost.
 */
export const signsOfLife: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    async execute(input, next) {
      const beating = setInterval(() => {
        context.heartbeat();
      }, SIGN_OF_LIFE_MS);
      try {
        return await next(input);
      } finally {
        clearInterval(beating);
      }
    },
  },
});
