import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withoutEcho } from './echo.js';

const SECRET = 'c2VjcmV0'.repeat(200_000);

it('[F1] names the size of what an API server repeats, and keeps what it says about it', () => {
  const raw = [...Buffer.from(SECRET.slice(0, 100_000))].map((byte) => `0x${byte.toString(16)}`).join(', ');
  const message = withoutEcho(
    `ControllerRevision.apps "large-1" is invalid: data: Invalid value: runtime.RawExtension{Raw:[]uint8{${raw}}, Object:runtime.Object(nil)}: field is immutable`,
  );
  expect(message).toMatch(
    /^ControllerRevision\.apps "large-1" is invalid: data: Invalid value: runtime\.RawExtension\(\d+ characters\): field is immutable$/,
  );
  const quoted = withoutEcho(
    `ConfigMap "a" is invalid: [data[k]: Invalid value: "${SECRET}": too long, metadata.name: Invalid value: "A_b": must be lower case]`,
  );
  expect(quoted).toBe(
    `ConfigMap "a" is invalid: [data[k]: Invalid value: (${SECRET.length + 2} characters): too long, metadata.name: Invalid value: "A_b": must be lower case]`,
  );
  expect(withoutEcho(`cannot read: {"data": {"k": "${SECRET}`)).toMatch(/^cannot read: \(\d+ characters\)$/);
});

it('[F1] leaves what is short, and what several errors say, as it is', () => {
  const list = Array.from({ length: 10 }, (_, index) => `spec.items[${index}].name: Required value: name it`);
  for (const text of ['not found', `X "y" is invalid: [${list.join(', ')}]`]) {
    expect(withoutEcho(text)).toBe(text);
  }
});

it('[F1] is short for whatever a server says', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom('{', '}', '"', '\\', ': ', 'x'.repeat(3000)), fc.string()), {
        maxLength: 60,
      }),
      (parts) => {
        expect(withoutEcho(parts.join('')).length).toBeLessThanOrEqual(4100);
      },
    ),
  );
  expect(withoutEcho('{'.repeat(3_000_000)).length).toBeLessThan(4100);
});

it.each([
  [
    'what a merge patch would make of a Secret',
    ' "" is invalid: patch: Invalid value: "{\\"data\\":{\\"a\\":\\"c2VjcmV0\\"},\\"x\\":\\"\\\\\\"q\\"}": strict decoding error: unknown field "dta"',
    'the patch does not fit the kind: strict decoding error: unknown field "dta"',
  ],
  [
    'the cause of that',
    'Invalid value: "{\\"data\\":{\\"a\\":\\"c2VjcmV0\\"}}": json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.annotations of type string',
    'json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.annotations of type string',
  ],
  [
    'a strategic merge patch',
    ' "" is invalid: patch: Invalid value: "map[data:map[pin:1234]]": cannot convert int64 to string',
    'the patch does not fit the kind: cannot convert int64 to string',
  ],
  [
    'a value of an apply',
    'failed to create typed patch object (ns/s; /v1, Kind=Secret): .stringData.pin: expected string, got &value.valueUnstructured{Value:1234}',
    'failed to create typed patch object (ns/s; /v1, Kind=Secret): .stringData.pin: expected string, got something else',
  ],
  [
    'an item without its key',
    'map: map[value:hunter2] does not contain declared merge key: name',
    'an item of a list has no name',
  ],
])('[F7] takes out %s', (_what, message, clean) => {
  expect(withoutEcho(message)).toBe(clean);
});

it('[F7] leaves other messages as they are', () => {
  const message =
    'Service "s" is invalid: spec.ports[0].port: Invalid value: -1: must be between 1 and 65535';
  expect(withoutEcho(message)).toBe(message);
});
