import { expect, it } from 'vitest';
import { readTraceContext, readTraceparent, writeTraceparent } from './trace-context.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

it('reads what W3C Trace Context describes, and writes it again', () => {
  const text = `00-${TRACE}-${SPAN}-01`;
  const parts = readTraceparent(text);
  expect(parts).toEqual({ traceId: TRACE, spanId: SPAN, flags: '01' });
  expect(parts && writeTraceparent(parts)).toBe(text);
  expect(readTraceContext({ traceparent: text, tracestate: 'vendor=1' })).toEqual({
    traceparent: text,
    tracestate: 'vendor=1',
  });
});

it('takes nothing else for one', () => {
  for (const text of [
    undefined,
    7,
    '',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\r\nx: y`,
    `00-${TRACE}-${SPAN}`,
  ]) {
    expect(readTraceContext({ traceparent: text }), String(text)).toBeUndefined();
  }
  for (const tracestate of ['', 'a\nb', 'x'.repeat(513), 7]) {
    expect(readTraceContext({ traceparent: `00-${TRACE}-${SPAN}-00`, tracestate })).toEqual({
      traceparent: `00-${TRACE}-${SPAN}-00`,
    });
  }
});
