import { expect, it } from 'vitest';
import { nameActivities } from './activity-log.js';

it('names what an activity is about in every line about it, once that is known', async () => {
  const about = (input: unknown): Record<string, string> =>
    typeof input === 'string' ? { plan: input } : {};
  const interceptors = nameActivities(about)({} as never);
  const attributes = (): unknown =>
    interceptors.outbound?.getLogAttributes?.({ activityId: '1' }, (given) => given);
  expect(attributes()).toEqual({ activityId: '1' });
  const result = await interceptors.inbound?.execute?.({ args: ['p'], headers: {} }, () =>
    Promise.resolve('done'),
  );
  expect(result).toBe('done');
  expect(attributes()).toEqual({ activityId: '1', plan: 'p' });
});
