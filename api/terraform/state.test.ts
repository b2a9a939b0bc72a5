import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import {
  createStateReader,
  instanceKey,
  refuseState,
  type StateInstance,
  type StateReading,
} from './state.js';

const bytes = (text: string): Buffer => Buffer.from(text);
const state = (over: object = {}): string =>
  JSON.stringify({
    version: 4,
    terraform_version: '1.11.4',
    serial: 3,
    lineage: 'l',
    outputs: {},
    resources: [],
    ...over,
  });

function read(text: string, chunk = 1 << 20): StateReading {
  const reader = createStateReader();
  const all = bytes(text);
  for (let at = 0; at < all.length; at += chunk) if (!reader.push(all.subarray(at, at + chunk))) break;
  return reader.end();
}

describe('a whole state', () => {
  it('is told by version, serial and lineage, wherever they stand [T8.4]', () => {
    const text =
      '{"serial":7,"resources":[{"serial":1,"lineage":"x","version":9}],"lineage":"l","version":4}';
    expect(read(text)).toMatchObject({
      kind: 'whole',
      facts: { lineage: 'l', serial: 7, engineVersion: '', bytes: bytes(text).length },
    });
  });

  it('is told where its serial and its outputs stand, so that neither is written anew [T8.5]', () => {
    const text = state({ outputs: { big: { value: 1 } } }).replace('"value":1', '"value":9007199254740993');
    const found = read(text);
    if (found.kind !== 'whole') throw new Error(found.problem);
    expect(text.slice(found.serial.start, found.serial.end)).toBe('3');
    expect(text.slice(found.outputs!.start, found.outputs!.end)).toBe('{"big":{"value":9007199254740993}}');
  });

  it.each([
    ['nothing', '', 'it is empty'],
    ['no version', '{"serial":1,"lineage":"l"}', 'its version is not said, not 4'],
    ['an older version', state({ version: 3 }), 'its version is 3, not 4'],
    ['a version as text', state({ version: '4' }), 'its version is "4", not 4'],
    ['no lineage', state({ lineage: '' }), 'it has no lineage'],
    ['a serial below 0', state({ serial: -1 }), 'its serial is no whole number from 0 to 2^53 - 1'],
    [
      'a serial that cannot be counted',
      state().replace(':3', ':9007199254740993'),
      'its serial is no whole number from 0 to 2^53 - 1',
    ],
    ['two serials', `${state().slice(0, -1)},"serial":9}`, 'it has two values of serial'],
    [
      'an encrypted form',
      '{"serial":1,"lineage":"l","encrypted_data":"x","encryption_version":"v0"}',
      'its version is not said, not 4',
    ],
    ['more after its end', `${state()}}`, 'there is more after its end at byte'],
    ['a list', '[1]', 'its version is not said, not 4'],
  ])('is not %s [T8.4]', (_, text, problem) => {
    expect(read(text)).toMatchObject({ kind: 'notWhole', problem: expect.stringContaining(problem) });
  });

  it('is not any part of one, however it is read [T8.4]', () => {
    const text = state({
      resources: [
        { type: 'a', instances: [{ attributes: { s: 'é"\\n\u2028', n: -1.5e3, t: true, z: null } }] },
      ],
    });
    const all = bytes(text);
    expect(read(text, 1).kind).toBe('whole');
    for (let end = 0; end < all.length; end += 1) {
      const reader = createStateReader();
      reader.push(all.subarray(0, end));
      expect(reader.end().kind).toBe('notWhole');
    }
  });

  it('does not depend on how it is cut into chunks', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 9 }), fc.nat(3), (value, chunk, indent) => {
        const text = JSON.stringify({ version: 4, lineage: 'l', x: value, serial: 1 }, undefined, indent);
        expect(read(text, chunk)).toEqual(read(text));
        expect(read(text).kind).toBe('whole');
      }),
    );
  });
});

it('bytes that JSON.parse refuses are no state, and those that it takes are read', () => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"',
    '1',
    '-',
    '0',
    '.',
    'e',
    '+',
    'true',
    'nul',
    '\\u12',
    '\n',
    ' ',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), (parts) => {
      const inner = parts.join('');
      const text = `{"version":4,"lineage":"l","serial":1,"x":[${inner}]}`;
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      expect(read(text).kind === 'whole').toBe(isJson);
    }),
    { numRuns: 3000 },
  );
});

it('knows its objects, whatever their keys look like', () => {
  const found: StateInstance[] = [];
  const reader = createStateReader((instance) => found.push(instance));
  const odd = 'a "b" / ${c} [0]';
  reader.push(
    bytes(
      state({
        resources: [
          {
            instances: [{ index_key: odd }, { index_key: 0 }],
            mode: 'managed',
            type: 't',
            name: 'n',
            module: `module.m["${odd}"]`,
          },
          { mode: 'data', type: 't', name: 'd', instances: [{}] },
          {
            mode: 'managed',
            type: 't',
            name: 'one',
            instances: [{ attributes: { type: 'x', deposed: 'x' } }, { deposed: 'abc' }],
          },
          { mode: 'managed', type: 't', name: 'none', instances: [] },
        ],
      }),
    ),
  );
  expect(reader.end().kind).toBe('whole');
  const module = `module.m["${odd}"]`;
  expect(found).toEqual([
    { key: instanceKey({ module, type: 't', name: 'n', index: odd }), isDeposed: false },
    { key: instanceKey({ module, type: 't', name: 'n', index: 0 }), isDeposed: false },
    { key: instanceKey({ type: 't', name: 'one' }), isDeposed: false },
    { key: instanceKey({ type: 't', name: 'one' }), isDeposed: true },
  ]);
});

describe('a state may take the place of a stored one', () => {
  it.each([
    ['where none is stored', { lineage: 'a', serial: 0 }, undefined, undefined],
    ['with the same serial', { lineage: 'a', serial: 3 }, { lineage: 'a', serial: 3 }, undefined],
    ['with a higher serial', { lineage: 'a', serial: 4 }, { lineage: 'a', serial: 3 }, undefined],
    [
      'not with a lower serial',
      { lineage: 'a', serial: 2 },
      { lineage: 'a', serial: 3 },
      /serial 2; the stored one has 3/,
    ],
    [
      'not with another lineage',
      { lineage: 'b', serial: 9 },
      { lineage: 'a', serial: 3 },
      /lineage b; the stored one has a/,
    ],
  ])('%s [T8.4]', (_, next, stored, message) => {
    const refusal = refuseState(next, stored);
    if (message === undefined) expect(refusal).toBeUndefined();
    else expect(refusal).toEqual({ reason: 'StateRefused', message: expect.stringMatching(message) });
  });
});
