import { expect, it } from 'vitest';
import { readTraceSettings } from './trace-settings.js';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

it('leaves traces off unless somebody names where they go', () => {
  for (const env of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'nonsense' },
    { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' },
    { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
  ]) {
    expect(readTraceSettings(env), JSON.stringify(env)).toEqual({ kind: 'off' });
  }
});

it('takes what is said of traces before what is said of all signals', () => {
  expect(readTraceSettings(ENDPOINT)).toEqual({ kind: 'on', protocol: 'http/protobuf' });
  expect(readTraceSettings({ OTEL_TRACES_EXPORTER: 'otlp' })).toEqual({
    kind: 'on',
    protocol: 'http/protobuf',
  });
  expect(
    readTraceSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    }),
  ).toEqual({ kind: 'on', protocol: 'http/json' });
});

it('names all that is wrong, with the value and what is allowed', () => {
  expect(
    readTraceSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_TRACES_EXPORTER: 'zipkin',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '10%',
    }),
  ).toEqual({
    kind: 'invalid',
    problems: [
      'OTEL_TRACES_EXPORTER="zipkin": expected otlp or none',
      'OTEL_EXPORTER_OTLP_ENDPOINT="collector:4317": expected a URL that begins with http:// or https://',
      'OTEL_EXPORTER_OTLP_PROTOCOL="grpc": expected http/protobuf or http/json; collectors take both at a port of their own, usually 4318',
      'OTEL_TRACES_SAMPLER_ARG="10%": expected a number from 0 to 1',
    ],
  });
});
