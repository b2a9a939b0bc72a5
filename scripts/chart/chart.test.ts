/** The chart says of settings and resources what the programs and their manifests say. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../crd-bridge/config.js';
import { loadConfig } from '../../worker/config.js';

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

/** Flags of the bridge that other values of the chart decide, or that mean nothing in a pod. */
const ELSEWHERE =
  /^(kubeconfig|health-|metrics-|encryption-keys|codec-|log-level|namespace|seal-ring|accept-unsealed-until|webhook-)/;

/** What one may want to be absent: there are other ways to say it, or none is needed. */
const REPLACEABLE = /^(maxUnavailable|requests|limits)$/;

describe('settings of the bridge', () => {
  const help = readConfig(['--help'], {});
  const flags = [...(help.kind === 'help' ? help.text : '').matchAll(/^ {2}--([a-z][a-z-]*)/gm)].map(
    ([, flag = '']) => flag,
  );

  it('are its flags, but for those that other values decide', () => {
    expect(flags.length).toBeGreaterThan(30);
    expect(Object.keys(settingsOf('bridge')).sort()).toEqual(
      flags.filter((flag) => !ELSEWHERE.test(flag)).sort(),
    );
  });

  it('that are durations are checked as durations, and no others', () => {
    const durations = flags.filter((flag) => {
      const result = readConfig([`--${flag}`, 'soon'], {});
      return result.kind === 'invalid' && result.message.includes('expected a duration');
    });
    const [, list = ''] =
      /define "drover.settings.forms" -\}\}\n([^]*?)\{\{- end/.exec(
        read('deploy/chart/templates/_forms.tpl'),
      ) ?? [];
    const forms = Object.entries(parse(list) as Record<string, string>);
    expect(
      forms
        .filter(([, form]) => form === 'duration')
        .map(([name]) => name)
        .sort(),
    ).toEqual(durations.filter((flag) => !ELSEWHERE.test(flag)).sort());
    const settings = { ...settingsOf('bridge'), ...settingsOf('worker') };
    for (const [name] of forms) expect(resolved(settings[name] ?? {}).type, name).toBe('string');
  });

  it('take the values of lists that it takes, and numbers where it takes numbers', () => {
    for (const [flag, node] of Object.entries(settingsOf('bridge'))) {
      const { enum: allowed = [], type, minimum } = resolved(node);
      const accepted = [...allowed, ...(type === 'integer' ? [String(minimum)] : [])];
      for (const value of accepted) expect(readConfig([`--${flag}`, value], {}).kind, flag).toBe('config');
      if (type === 'integer') {
        expect(readConfig([`--${flag}`, String((minimum ?? 0) - 1)], {}).kind, flag).toBe('invalid');
      }
    }
  });
});

describe('settings of the worker', () => {
  const variable = (name: string): string => `DROVER_${name.toUpperCase().replaceAll('-', '_')}`;

  it('are variables that it reads', () => {
    const source = read('worker/config.ts');
    for (const name of Object.keys(settingsOf('worker'))) expect(source).toContain(`  ${variable(name)}:`);
  });

  it('have its bounds', () => {
    const bounded = Object.entries(settingsOf('worker')).filter(([, { type }]) => type === 'integer');
    expect(bounded.length).toBeGreaterThan(3);
    for (const [name, { minimum = 0, maximum = 0 }] of bounded) {
      const load = (value: number) => () => loadConfig({ [variable(name)]: String(value) });
      for (const good of [minimum, maximum]) expect(load(good), name).not.toThrow();
      for (const bad of [minimum - 1, maximum + 1]) expect(load(bad), name).toThrow(variable(name));
    }
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
