import fc from 'fast-check';
import { expect, it } from 'vitest';
import { leanOutputs, wholeOutputs } from './lean-outputs.js';

const ref = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name, namespace: 'ns', uid: name });

it('[F3] sends the objects of an action once', () => {
  const made = [ref('a')];
  expect(leanOutputs({ resourceRef: ref('a'), resourceRefs: [ref('a')], created: made })).toEqual({
    outputs: { created: made },
    same: ['resourceRef', 'resourceRefs'],
  });
  const changed = { resourceRef: ref('a'), resourceRefs: [ref('a')] };
  expect(leanOutputs(changed)).toEqual({ outputs: { resourceRefs: [ref('a')] }, same: ['resourceRef'] });
  const http = { httpResponse: { statusCode: 200, body: 'b' } };
  expect(leanOutputs(http)).toEqual({ outputs: http });
});

it('[F3] gives back what was put out, whatever it is', () => {
  const one = fc.constantFrom('a', 'b').map(ref);
  const list = fc.array(one, { maxLength: 3 });
  const outputs = fc.record(
    {
      resourceRef: one,
      subscriptionRef: one,
      resourceRefs: list,
      created: list,
      stopUnconfirmed: fc.array(fc.string()),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(outputs, (whole) => {
      const lean = leanOutputs(whole);
      expect(wholeOutputs(lean)).toEqual(whole);
      expect(JSON.stringify(lean.outputs).length).toBeLessThanOrEqual(JSON.stringify(whole).length);
    }),
  );
});
