import { describe, expect, it } from 'vitest';
import { createPlanReader, type PlanReading } from './plan-json.js';

function read(plan: object | string, chunk = 1 << 20): PlanReading {
  const all = Buffer.from(typeof plan === 'string' ? plan : JSON.stringify(plan));
  const reader = createPlanReader();
  for (let at = 0; at < all.length; at += chunk) if (!reader.push(all.subarray(at, at + chunk))) break;
  return reader.end();
}

const change = (address: string, ...actions: string[]): object => ({
  address,
  mode: 'managed',
  type: 't',
  name: address.split('.').at(-1),
  change: { actions, before: { address: 'not this one' }, after: { actions: ['create'] } },
});

describe('the JSON of a plan [T4.4, T6.1]', () => {
  it('gives counts, in which a replacement is one to add and one to destroy, and rows of what changes [T4.4] [T6.1]', () => {
    const reading = read({
      format_version: '1.2',
      resource_changes: [
        change('t.a', 'create'),
        change('t.b', 'update'),
        change('t.c', 'delete'),
        change('t.d', 'delete', 'create'),
        { ...change('module.m.t.e', 'create', 'delete'), module_address: 'module.m' },
        change('t.f', 'no-op'),
        change('t.g', 'forget'),
        { ...change('data.t.h', 'read'), mode: 'data' },
      ],
      output_changes: { o: { actions: ['update'] }, same: { actions: ['no-op'] } },
      resource_drift: [change('t.a', 'update')],
    });
    expect(reading).toEqual({
      plan: {
        add: 3,
        change: 1,
        destroy: 3,
        resources: [
          { address: 't.a', type: 't', name: 'a', action: 'create' },
          { address: 't.b', type: 't', name: 'b', action: 'update' },
          { address: 't.c', type: 't', name: 'c', action: 'delete' },
          { address: 't.d', type: 't', name: 'd', action: 'replace' },
          { address: 'module.m.t.e', type: 't', name: 'e', module: 'module.m', action: 'replace' },
        ],
        resourceCount: 5,
        outputs: ['o'],
        drifted: ['t.a'],
        driftedCount: 1,
      },
    });
  });

  it('reads the same however it is cut, and whatever comes first in an object', () => {
    const plan =
      '{"resource_changes":[{"change":{"actions":["create"]},"address":"t[\\"\\u00e9\\"].a","mode":"managed"}],"format_version":"1.0"}';
    const whole = read(plan);
    expect(whole).toMatchObject({ plan: { add: 1, resources: [{ address: 't["é"].a' }] } });
    for (let size = 1; size < 7; size += 1) expect(read(plan, size)).toEqual(whole);
  });

  it('keeps 200 rows and counts all [T1.6]', () => {
    const many = Array.from({ length: 300 }, (_, i) => change(`t.r${i}`, 'create'));
    const reading = read({ format_version: '1.2', resource_changes: many });
    if (!('plan' in reading)) throw new Error(reading.message);
    expect([reading.plan.resources.length, reading.plan.resourceCount, reading.plan.add]).toEqual([
      200, 300, 300,
    ]);
  });

  it.each([
    ['a later major version', { format_version: '2.0', resource_changes: [] }, 'its format_version is "2.0"'],
    ['an earlier one', { format_version: '0.2' }, 'its format_version is "0.2"'],
    ['no version', {}, 'its format_version is not said'],
    ['half of one', '{"format_version":"1.2"', 'it is no JSON: it breaks off'],
    ['nothing', '', 'it is no JSON: it is empty'],
  ])('is refused where it is %s [T6.1]', (_, plan, message) => {
    expect(read(plan)).toEqual({ reason: 'UnknownPlanFormat', message: expect.stringContaining(message) });
  });
});
