/** The chart says of settings and resources what the programs and their manifests say. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { BRIDGE } from '../../crd-bridge/config.js';
import { advertised, variablesOf } from '../../runtime/options/option.js';
import type { OptionTable } from '../../runtime/options/option.js';
import { WORKER } from '../../worker/config.js';

const read = (path: string): string => readFileSync(path, 'utf8');

interface Schema {
  description?: string;
  type?: string;
  $ref?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  items?: Schema;
  required?: string[];
}
const schema = JSON.parse(read('deploy/chart/values.schema.json')) as Schema & {
  definitions: Record<string, Schema>;
};
const resolved = (node: Schema): Schema =>
  node.$ref === undefined ? node : (schema.definitions[node.$ref.replace('#/definitions/', '')] ?? {});
const at = (...path: string[]): Schema =>
  path.reduce<Schema>((node, name) => resolved(resolved(node).properties?.[name] ?? {}), schema);
const settingsOf = (program: string): Record<string, Schema> => at(program, 'settings').properties ?? {};

/** Options that other values of the chart decide, or that mean nothing in a pod. */
const ELSEWHERE =
  /^(kubeconfig|namespace|health-|metrics-|profile-|log-level|encryption-keys|seal-ring|accept-unsealed-until|webhook-|codec-|egress-(allow|deny|never)$|temporal-ui|shutdown-grace-seconds|deployment-name)/;
const programs: Record<string, OptionTable> = { bridge: BRIDGE.options, worker: WORKER.options };
const optionsOf = (program: string): [string, OptionTable[string]][] =>
  advertised(programs[program] ?? {}).filter(([name]) => !ELSEWHERE.test(name));

/** What one may want to be absent: there are other ways to say it, or none is needed. */
const REPLACEABLE = /^(maxUnavailable|requests|limits)$/;

describe.each(Object.keys(programs))('settings of the %s', (program) => {
  it('are its options, but for those that other values decide', () => {
    const names = optionsOf(program).map(([name]) => name);
    expect(names.length).toBeGreaterThan(5);
    expect(Object.keys(settingsOf(program)).sort()).toEqual(names.sort());
  });

  it('are given to it by a variable of their name', () => {
    for (const [name, option] of optionsOf(program))
      expect(variablesOf(name, option)).toContain(`DROVER_${name.toUpperCase().replaceAll('-', '_')}`);
  });

  it('take what it takes: words of its lists, switches, numbers within its bounds', () => {
    for (const [name, option] of optionsOf(program)) {
      const { type, enum: words, minimum = 0, maximum } = resolved(settingsOf(program)[name] ?? {});
      const takes = (value: unknown): boolean => 'value' in option.read(String(value));
      const { placeholder } = option.type;
      if (placeholder === 'number') {
        expect(type, name).toBe('integer');
        expect([minimum, maximum ?? 1_000_000].map(takes), name).toEqual([true, true]);
        expect([minimum - 1, (maximum ?? Infinity) + 1].map(takes), name).toEqual([false, false]);
      } else if (option.type.isSwitch === true) expect(type, name).toBe('boolean');
      else if (placeholder.includes('|')) expect(words, name).toEqual(placeholder.split('|'));
      else expect(type, name).toBe('string');
    }
  });

  it('that are durations are checked as durations, and no others', () => {
    const [, list = ''] =
      /define "drover.settings.forms" -\}\}\n([^]*?)\{\{- end/.exec(
        read('deploy/chart/templates/_forms.tpl'),
      ) ?? [];
    const forms = parse(list) as Record<string, string>;
    for (const [name, option] of optionsOf(program))
      expect(forms[name] === 'duration', name).toBe(option.type.placeholder === 'duration');
    const known = Object.keys(programs)
      .flatMap(optionsOf)
      .map(([name]) => name);
    for (const name of Object.keys(forms)) expect(known).toContain(name);
  });
});

describe('values', () => {
  it('are all in the schema, explained, and nothing else may be given', () => {
    const problems: string[] = [];
    const look = (node: Schema, path: string): void => {
      const { type, properties, items, additionalProperties } = resolved(node);
      const isMap = properties === undefined;
      if (type === 'object' && !isMap && additionalProperties !== false) problems.push(`${path} is open`);
      for (const [name, child] of Object.entries(properties ?? {})) {
        const isSetting = path.endsWith('.settings');
        if (!isSetting && (child.description ?? resolved(child).description) === undefined)
          problems.push(`${path}.${name} is not explained`);
        look(child, `${path}.${name}`);
      }
      if (items?.properties !== undefined && items.description !== undefined) look(items, `${path}[]`);
    };
    look(schema, '');
    expect(problems).toEqual([]);

    const given = Object.keys(parse(read('deploy/chart/values.yaml')) as object);
    expect(['global', ...given].sort()).toEqual(Object.keys(schema.properties ?? {}).sort());
  });

  it('ask for the resources that were measured, as deploy/programs does', () => {
    const values = parse(read('deploy/chart/values.yaml'), { merge: true }) as Record<
      string,
      { resources: object }
    >;
    for (const program of ['bridge', 'worker']) {
      const deployment = parseAllDocuments(read(`deploy/programs/${program}.yaml`), { merge: true })
        .map((document) => document.toJS() as { kind: string; spec: Deployment })
        .find(({ kind }) => kind === 'Deployment');
      const [container] = deployment?.spec.template.spec.containers ?? [];
      expect(values[program]?.resources).toEqual(container?.resources);
    }
  });

  it('that have a default cannot be taken away: templates count on them', () => {
    const values = parse(read('deploy/chart/values.yaml'), { merge: true }) as Record<string, unknown>;
    const missing: string[] = [];
    const look = (node: Schema, value: unknown, path: string): void => {
      const { properties, required = [] } = resolved(node);
      if (properties === undefined || typeof value !== 'object' || value === null) return;
      for (const [name, child] of Object.entries(value)) {
        if (!required.includes(name) && !REPLACEABLE.test(name)) missing.push(`${path}.${name}`);
        look(properties[name] ?? {}, child, `${path}.${name}`);
      }
    };
    look(schema, values, '');
    expect(missing).toEqual([]);
  });

  it('of the chart are of the release of the package', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(parse(read('deploy/chart/Chart.yaml'))).toMatchObject({ version, appVersion: version });
  });
});

interface Deployment {
  template: { spec: { containers: { resources: object }[] } };
}
