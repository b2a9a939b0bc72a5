import { describe, expect, it } from 'vitest';
import { checkObjectCondition, judgeObject } from './object-condition.js';

const object = { metadata: { generation: 2 }, status: { readyReplicas: 2, observedGeneration: 2 } };

describe('conditions on objects', () => {
  it.each([
    ['object.status.readyReplicas >= 2', object, true],
    ['object.status.observedGeneration == object.metadata.generation', object, true],
    ['object.status.readyReplicas == 3', object, false],
    ['object == null', null, true],
    ['object == null', object, false],
    ['object != null && has(object.status.missing)', object, false],
  ])('%s', (expression, value, holds) => {
    expect(checkObjectCondition(expression)).toBeUndefined();
    expect(judgeObject(expression, value)).toEqual({ holds });
  });

  it('do not hold while what they read is not there, and say why', () => {
    expect(judgeObject('object.status.phase == "Ready"', object)).toEqual({
      holds: false,
      why: expect.stringContaining('phase'),
    });
    expect(judgeObject('object.status.phase == "Ready"', null).holds).toBe(false);
    expect(judgeObject('object.status.readyReplicas', object)).toEqual({
      holds: false,
      why: 'it gives a number; a condition must give true or false',
    });
  });

  it.each(['', 'object.', 'other == 1', '1 + 1', 'object.a.map(x, x + x) == []', 'x'.repeat(5000)])(
    'are refused when they cannot be evaluated: %.20s',
    (expression) => {
      expect(checkObjectCondition(expression)).toBeTypeOf('string');
    },
  );

  it('cannot run away', () => {
    const list = Array.from({ length: 3000 }, (_, index) => index);
    const result = judgeObject('object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))', {
      l: list,
    });
    expect(result).toEqual({ holds: false, why: expect.stringContaining('took longer than') });
  });
});
