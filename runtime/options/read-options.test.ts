import { describe, expect, it } from 'vitest';
import { group, optional, setting } from './option.js';
import type { Program } from './option.js';
import { readOptions } from './read-options.js';
import { count, listOf, matching, oneOf, onOff, path, port, text, valueType } from './types.js';

const seconds = valueType('duration', 'a duration such as 30s', (value) =>
  /^\d+s$/.test(value) ? Number(value.slice(0, -1)) : undefined,
);
const options = {
  ...group('Pace', {
    wait: setting(seconds, '30s', { means: 'how long to wait' }),
    places: setting(count({ max: 10 }), '4', { means: 'places' }),
    mode: setting(oneOf('Fast', 'Slow'), 'Fast', { means: 'how' }),
    old: setting(count(), '1', { means: 'old', leaving: 'nobody needs it' }),
    inner: setting(count(), '2', { means: 'inner', hidden: true }),
  }),
  ...group('Doors', {
    'webhook-port': optional(port, { means: 'port', otherwise: 'none' }),
    open: setting(onOff, 'false', { means: 'open' }),
    keys: optional(path, { means: 'keys' }),
    names: setting(listOf(matching('name', 'a name', /^[a-z]+$/)), 'a,b', { means: 'names' }),
    build: optional(text, { means: 'build', variables: ['DROVER_BUILD', 'OTHER_BUILD'] }),
  }),
};
const program: Program<typeof options> = {
  name: 'program',
  summary: 'Does what it does.',
  options,
  check: ({ places, open }) => (open && places > 5 ? ['--open needs at most 5 --places'] : []),
  editDistance: (a, b) => (a.replace('AWIT', 'WAIT') === b ? 2 : 9),
};
const read = (argv: string[], env: Record<string, string> = {}) => readOptions(program, argv, env);
const values = (argv: string[], env: Record<string, string> = {}) => {
  const result = read(argv, env);
  if (result.kind !== 'values') throw new Error(JSON.stringify(result));
  return result.values;
};
const problems = (argv: string[], env: Record<string, string> = {}): string[] => {
  const result = read(argv, env);
  return result.kind === 'invalid' ? result.problems : [];
};

describe('options', () => {
  it('are flags, then variables, then defaults', () => {
    const env = { DROVER_WAIT: '5s', DROVER_PLACES: '3', OTHER_BUILD: 'x' };
    expect(values(['--wait=90s', '--names', 'x, y,'], env)).toEqual({
      wait: 90,
      places: 3,
      mode: 'Fast',
      old: 1,
      inner: 2,
      'webhook-port': undefined,
      open: false,
      keys: undefined,
      names: ['x', 'y'],
      build: 'x',
    });
  });

  it('that are switches may stand alone', () => {
    expect(values(['--open'])).toMatchObject({ open: true });
    expect(values(['--open=false'], { DROVER_OPEN: 'true' })).toMatchObject({ open: false });
    expect(values([], { DROVER_OPEN: '1' })).toMatchObject({ open: true });
  });

  it('are not set by an empty variable, but for lists, which it empties, and paths, where it is a mistake', () => {
    const env = {
      DROVER_WAIT: '',
      DROVER_PLACES: '',
      DROVER_OPEN: '',
      DROVER_NAMES: '',
      DROVER_WEBHOOK_PORT: '',
    };
    expect(values([], env)).toMatchObject({ wait: 30, places: 4, open: false, names: [] });
    expect(problems([], { DROVER_KEYS: '' })).toEqual([
      'DROVER_KEYS="" (or --keys): expected a path; leave it out for none',
    ]);
  });

  it('are all named when they are wrong, with the value and what is allowed', () => {
    expect(problems(['--wait=soon', '--mode=fast'], { DROVER_PLACES: '11', DROVER_NAMES: 'a,B' })).toEqual([
      '--wait="soon" (or DROVER_WAIT): expected a duration such as 30s',
      'DROVER_PLACES="11" (or --places): expected a whole number from 1 to 10',
      '--mode="fast" (or DROVER_MODE): expected one of Fast, Slow',
      'DROVER_NAMES="a,B" (or --names): "B": expected a name',
    ]);
    expect(problems([], { DROVER_PLACES: '9'.repeat(500) })[0]).toContain(`="${'9'.repeat(99)}…" (or`);
    expect(problems(['--open', '--places=6'])).toEqual(['--open needs at most 5 --places']);
  });

  it('that do not exist are told, with the nearest one', () => {
    expect(problems(['--webhook-prot=9443'])).toEqual([
      "unknown option '--webhook-prot' (Did you mean --webhook-port?)",
    ]);
    expect(problems(['extra'])[0]).toMatch(/too many arguments/);
    expect(problems(['--wait'])[0]).toMatch(/argument missing/);
  });

  it('that go or are for tests are taken, and not told; the former with a warning', () => {
    expect(read(['--old=5', '--inner=6'])).toMatchObject({
      kind: 'values',
      values: { old: 5, inner: 6 },
      warnings: ['--old goes with the next release: nobody needs it; leave it out'],
    });
    const help = read(['--help']);
    const shown = help.kind === 'help' ? help.text : '';
    expect(shown).toMatch(/Does what it does\./);
    expect(shown).toMatch(/Pace:\n +--wait <duration> +how long to wait \(default: 30s\)/);
    expect(shown).toMatch(/Doors:\n/);
    expect(shown).toMatch(/--open \[true\|false\] +open \(default: false\)/);
    expect(shown).toMatch(/variable: DROVER_BUILD, OTHER_BUILD/);
    expect(shown).not.toMatch(/--old|--inner/);
  });

  it('are not what Kubernetes tells of a Service, and a misspelt variable is warned of', () => {
    const env = {
      DROVER_WEBHOOK_PORT: 'tcp://10.96.0.7:443',
      DROVER_WEBHOOK_PORT_443_TCP_ADDR: '10.96.0.7',
      DROVER_WEBHOOK_SERVICE_HOST: '10.96.0.7',
      DROVER_AWIT: '1s',
      DROVER_MAX_OF_ANOTHER_PROGRAM: '5',
    };
    expect(read([], env)).toMatchObject({
      kind: 'values',
      values: { 'webhook-port': undefined, wait: 30 },
      warnings: ['DROVER_AWIT has no effect: there is no such setting; is DROVER_WAIT meant?'],
    });
  });
});
