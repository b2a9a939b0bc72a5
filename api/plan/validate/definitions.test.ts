import { describe, expect, it } from 'vitest';
import type { Shape } from '../../core/shape.js';
import type { Action, DRWorkflow } from '../types.js';
import { checkDefinitions, kindsWritten } from './definitions.js';

const text: Shape = { type: 'string' };
const configMap: Shape = {
  type: 'map',
  fields: new Map([['data', { type: 'map', values: text }]]),
};
const job: Shape = {
  type: 'map',
  fields: new Map([['spec', { type: 'map', fields: new Map([['backoffLimit', { type: 'integer' }]]) }]]),
};
const check = (...actions: Omit<Action, 'name'>[]) => {
  const named = actions.map((action, index) => ({ name: `a${index}`, ...action }));
  const workflow: DRWorkflow = { metadata: { name: 'w' }, spec: { actions: named } };
  return checkDefinitions(workflow, (apiVersion, kind) =>
    apiVersion === 'v1' && kind === 'ConfigMap' ? configMap : kind === 'Job' ? job : undefined,
  ).map(({ severity, reason, path, message }) => `${severity} ${reason} ${path}: ${message}`);
};
const resource = (manifest: string, more: object = {}): Omit<Action, 'name'> => ({
  type: 'KubernetesResource',
  resource: { manifest, ...more },
});

describe('what the definitions of a cluster say', () => {
  it('[F7] refuses a field that a kind does not have, names it and the nearest, also in a rollback [S3.50]', () => {
    const typo = '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dta: {a: b}}';
    const found = check({
      ...resource(typo),
      rollback: { resource: { operation: 'Patch', manifest: typo } },
    });
    expect(found).toEqual([
      'error UnknownField spec.actions[0].resource.manifest: dta is no field of ConfigMap (v1); did you mean data?',
      'error UnknownField spec.actions[0].rollback.resource.manifest: dta is no field of ConfigMap (v1); did you mean data?',
    ]);
  });

  it('[F7] warns of it where the action lets it be dropped', () => {
    const manifest = '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dta: {}}';
    expect(check(resource(manifest, { fieldValidation: 'Warn' }))).toEqual([
      expect.stringMatching(/^warning UnknownField .*; the API server drops it$/),
    ]);
  });

  it('[F7] looks into a List, and at the template of a Job', () => {
    const list =
      '{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Other, x: 1}, {apiVersion: v1, kind: ConfigMap, data: {a: 1}}]}';
    const template = { spec: { backofLimit: 0, template: {} } };
    expect(check(resource(list), { type: 'Job', job: { template } })).toEqual([
      expect.stringMatching(/resource\.manifest: document 2: data\.a is 1; must be text/),
      expect.stringMatching(/job\.template: spec\.backofLimit is no field of Job .*backoffLimit/),
      expect.stringMatching(/job\.template: spec\.template is no field of Job/),
    ]);
  });

  it('[F7] says nothing of other clusters, of deletions, of what is not known, and of values to come', () => {
    const typo = '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dta: {}}';
    const target = { kubeconfigSecretRef: { name: 'other' } };
    expect(
      check(
        { ...resource(typo), target },
        resource(typo, { operation: 'Delete' }),
        resource('{apiVersion: example.org/v1, kind: Thing, dta: {}}'),
        resource('{apiVersion: v1, kind: ConfigMap, data: {a: "{{ .params.x }}", "{{ .params.k }}": b}}'),
      ),
    ).toEqual([]);
  });

  it('[F7] says nothing of kinds that the workflow itself defines', () => {
    const definition =
      '{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: batch, names: {kind: Job}}}';
    const typo = '{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spc: {}}';
    expect(check(resource(typo))).toHaveLength(1);
    expect(check(resource(definition), resource(typo))).toEqual([]);
  });

  it('[F7] asks for each kind once', () => {
    const action = {
      name: 'a',
      ...resource('{apiVersion: v1, kind: ConfigMap}\n---\n{apiVersion: v1, kind: ConfigMap}'),
    };
    expect(kindsWritten({ metadata: { name: 'w' }, spec: { actions: [action] } })).toEqual([
      { apiVersion: 'v1', kind: 'ConfigMap' },
    ]);
  });
});
