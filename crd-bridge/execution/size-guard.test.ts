import { expect, it } from 'vitest';
import type { DRPlanExecutionStatus } from '../../api/types.js';
import { fitStatus, smallestStatus, STATUS_LIMIT_BYTES } from './size-guard.js';

const status = (actions: number, body: number, message: number): DRPlanExecutionStatus => ({
  phase: 'Running',
  message: 'of the run',
  stageStatuses: [
    {
      name: 's',
      phase: 'Running',
      workflowExecutions: [
        {
          workflowRef: { name: 'w' },
          phase: 'Running',
          actionStatuses: Array.from({ length: actions }, (_, index) => ({
            name: `a${index}`,
            phase: 'Failed',
            reason: 'HTTPError',
            message: 'm'.repeat(message),
            outputs: { httpResponse: { statusCode: 500, body: 'b'.repeat(body) } },
          })),
        },
      ],
    },
  ],
});
const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const actions = (value: DRPlanExecutionStatus) =>
  value.stageStatuses?.[0]?.workflowExecutions?.[0]?.actionStatuses ?? [];

it('leaves a status alone that fits', () => {
  const small = status(10, 1000, 100);
  expect(fitStatus(small)).toBe(small);
});

it('leaves out bodies first', () => {
  const fitted = fitStatus(status(1500, 1000, 200));
  expect(size(fitted)).toBeLessThanOrEqual(STATUS_LIMIT_BYTES);
  expect(actions(fitted)[0]).toMatchObject({
    message: 'm'.repeat(200),
    outputs: { httpResponse: { statusCode: 500 } },
  });
  expect(actions(fitted)[0]?.outputs?.httpResponse?.body).toBeUndefined();
});

it('then messages, and never phases, reasons or the message of the run', () => {
  const fitted = fitStatus(status(2000, 1000, 1000));
  expect(size(fitted)).toBeLessThanOrEqual(STATUS_LIMIT_BYTES);
  expect(actions(fitted)).toHaveLength(2000);
  for (const action of actions(fitted))
    expect(action).toMatchObject({ phase: 'Failed', reason: 'HTTPError' });
  expect(fitted.message).toBe('of the run');
});

it('at its smallest tells every phase of the largest run admitted', () => {
  const smallest = smallestStatus(status(2000, 1000, 32_000));
  expect(size(smallest)).toBeLessThan(STATUS_LIMIT_BYTES);
  expect(actions(smallest)).toHaveLength(2000);
});
