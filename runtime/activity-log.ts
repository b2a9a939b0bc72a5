import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/**
 * Lets the lines that Temporal's SDK writes about an activity, such as that an attempt has failed, name what it was about as
 * our own lines do.
 *
 * @param about names by the input of an activity
 */
export const nameActivities =
  (about: (input: unknown) => Record<string, string>): ActivityInterceptorsFactory =>
  () => {
    let input: unknown;
    return {
      inbound: {
        execute(given, next) {
          [input] = given.args;
          return next(given);
        },
      },
      outbound: {
        getLogAttributes: (attributes, next) => next({ ...attributes, ...about(input) }),
      },
    };
  };
