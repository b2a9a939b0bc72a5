import { expect, it } from 'vitest';
import { findCondition, setCondition } from './conditions.js';

const first = '2026-01-01T00:00:00Z';
const later = '2026-01-02T00:00:00Z';
const ready = (status: 'True' | 'False', reason = 'A', message = 'm') => ({
  type: 'Ready',
  status,
  reason,
  message,
});

it('moves the time with the status only [S1.10]', () => {
  let conditions = setCondition(undefined, ready('True'), first);
  conditions = setCondition(conditions, ready('True', 'B', 'n'), later);
  expect(findCondition(conditions, 'Ready')).toMatchObject({
    reason: 'B',
    message: 'n',
    lastTransitionTime: first,
  });
  conditions = setCondition(conditions, ready('False'), later);
  expect(findCondition(conditions, 'Ready')).toMatchObject({ status: 'False', lastTransitionTime: later });
});

it('leaves other conditions and their order alone', () => {
  const others = setCondition(
    setCondition(undefined, { ...ready('True'), type: 'X' }, first),
    ready('True'),
    first,
  );
  const next = setCondition(others, { ...ready('False'), type: 'X' }, later);
  expect(next.map((condition) => condition.type)).toEqual(['X', 'Ready']);
  expect(next[1]).toBe(others[1]);
});

it('cuts a message that the schema would refuse', () => {
  const [condition] = setCondition(undefined, ready('False', 'A', 'x'.repeat(50_000)), first);
  expect(condition?.message.length).toBeLessThanOrEqual(32_768);
});
