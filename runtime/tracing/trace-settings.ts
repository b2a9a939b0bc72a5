/**
 * What the standard `OTEL_*` variables say about traces. They are OpenTelemetry's, not ours, and its SDK reads most of them
 * itself: this is when it is loaded at all, and what it would otherwise pass over in silence.
 */

/** How spans are written: the two ways of OTLP over HTTP. */
export type TraceProtocol = 'http/protobuf' | 'http/json';

/** What is to be done about traces. */
export type TraceSettings =
  | { kind: 'off' }
  | { kind: 'on'; protocol: TraceProtocol }
  | { kind: 'invalid'; problems: string[] };

type Environment = Readonly<Record<string, string | undefined>>;

const PROTOCOLS: readonly TraceProtocol[] = ['http/protobuf', 'http/json'];
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
];
const MAX_SHOWN_CHARACTERS = 100;

/**
 * Reads the variables. Traces are on where an endpoint is named, or `OTEL_TRACES_EXPORTER=otlp`, and OpenTelemetry is not
 * switched off; an empty variable is one that is not set.
 */
export function readTraceSettings(env: Environment): TraceSettings {
  const get = (name: string): string | undefined => env[name]?.trim() || undefined;
  if (get('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return { kind: 'off' };
  const exporter = get('OTEL_TRACES_EXPORTER');
  if (exporter === 'none') return { kind: 'off' };
  // What is said of traces alone wins over what is said of all signals.
  const first = (...names: string[]): { name: string; value: string } | undefined => {
    const name = names.find((each) => get(each) !== undefined);
    return name === undefined ? undefined : { name, value: get(name) ?? '' };
  };
  const endpoint = first('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT');
  if (endpoint === undefined && exporter === undefined) return { kind: 'off' };

  const problems: string[] = [];
  const refuse = ({ name, value }: { name: string; value: string }, allowed: string): void => {
    const shown =
      value.length <= MAX_SHOWN_CHARACTERS ? value : `${value.slice(0, MAX_SHOWN_CHARACTERS - 1)}…`;
    problems.push(`${name}=${JSON.stringify(shown)}: expected ${allowed}`);
  };
  if (exporter !== undefined && exporter !== 'otlp')
    refuse({ name: 'OTEL_TRACES_EXPORTER', value: exporter }, 'otlp or none');
  if (endpoint !== undefined && !isHttp(endpoint.value))
    refuse(endpoint, 'a URL that begins with http:// or https://');
  const said = first('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL');
  const protocol = said === undefined ? 'http/protobuf' : PROTOCOLS.find((each) => each === said.value);
  if (said !== undefined && protocol === undefined)
    refuse(said, `${PROTOCOLS.join(' or ')}; collectors take both at a port of their own, usually 4318`);
  const sampler = first('OTEL_TRACES_SAMPLER');
  if (sampler !== undefined && !SAMPLERS.includes(sampler.value))
    refuse(sampler, `one of ${SAMPLERS.join(', ')}`);
  const ratio = first('OTEL_TRACES_SAMPLER_ARG');
  if (ratio !== undefined && sampler?.value.endsWith('traceidratio') === true && !isShare(ratio.value))
    refuse(ratio, 'a number from 0 to 1');
  return problems.length > 0 || protocol === undefined
    ? { kind: 'invalid', problems }
    : { kind: 'on', protocol };
}

const isHttp = (text: string): boolean =>
  URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);

const isShare = (text: string): boolean => Number(text) >= 0 && Number(text) <= 1;
