import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DR_KINDS } from '../plan/kinds.js';
import { definitionGaps, lacksOfStatus } from './definition-gap.js';

interface Definition {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Record<string, unknown> } }[];
  };
}

/** The schemas of the definitions in `deploy/crds`, as an API server that has these publishes them. */
function published(): Record<string, Record<string, unknown>> {
  const folder = 'deploy/crds';
  return Object.fromEntries(
    readdirSync(folder).map((name) => {
      const { spec } = parse(readFileSync(join(folder, name), 'utf8')) as Definition;
      const [version] = spec.versions;
      const { kind } = spec.names;
      const gvk = { group: spec.group, version: version?.name, kind };
      return [kind, { ...version?.schema.openAPIV3Schema, 'x-kubernetes-group-version-kind': [gvk] }];
    }),
  );
}

/** A part of a schema, by the names of fields. */
function at(schema: unknown, ...path: string[]): Record<string, unknown> {
  return path.reduce<Record<string, unknown>>(
    (node, name) => (node.properties as Record<string, Record<string, unknown>>)[name] ?? {},
    schema as Record<string, unknown>,
  );
}
const fieldsAt = (schema: unknown, ...path: string[]): Record<string, unknown> =>
  at(schema, ...path).properties as Record<string, unknown>;
const gapOf = (kind: string, schemas: Record<string, unknown>) =>
  definitionGaps(DR_KINDS, schemas).find((gap) => gap.kind === kind);

describe('definitions in a cluster', () => {
  it('are those of this release when they come from deploy/crds', () => {
    expect(definitionGaps(DR_KINDS, published())).toEqual(
      DR_KINDS.map(({ kind }) => ({ kind, state: 'same', lacks: [], beyond: [] })),
    );
  });

  it('are older when they lack a field, a field of an item, or a value', () => {
    const schemas = published();
    const execution = schemas.DRPlanExecution;
    delete fieldsAt(execution, 'status', 'temporal').sealKey;
    delete fieldsAt(execution, 'spec').requestedAt;
    delete (
      (at(execution, 'status', 'stageStatuses').items as { properties: object }).properties as {
        phase?: unknown;
      }
    ).phase;
    const operation = at(execution, 'spec', 'operationType');
    operation.enum = (operation.enum as string[]).filter((value) => value !== 'Revert');
    const gap = gapOf('DRPlanExecution', schemas);
    expect(gap).toMatchObject({ state: 'older', beyond: [] });
    expect(gap?.lacks.sort()).toEqual([
      'spec.operationType=Revert',
      'spec.requestedAt',
      'status.stageStatuses[].phase',
      'status.temporal.sealKey',
    ]);
    expect(gap && lacksOfStatus(gap)).toEqual(['status.stageStatuses[].phase', 'status.temporal.sealKey']);
  });

  it('are newer when they have more, and neither when they have more and less', () => {
    const schemas = published();
    fieldsAt(schemas.DRPlan, 'spec').colour = { type: 'string' };
    expect(gapOf('DRPlan', schemas)).toEqual({
      kind: 'DRPlan',
      state: 'newer',
      lacks: [],
      beyond: ['spec.colour'],
    });
    delete fieldsAt(schemas.DRPlan, 'spec').stages;
    expect(gapOf('DRPlan', schemas)).toMatchObject({ state: 'other', lacks: ['spec.stages'] });
  });

  it('lack a whole part by its name alone, and may be missing', () => {
    const schemas = published();
    delete fieldsAt(schemas.DRPlan).status;
    expect(gapOf('DRPlan', schemas)).toMatchObject({ state: 'older', lacks: ['status'] });
    delete schemas.DRPlan;
    expect(gapOf('DRPlan', schemas)).toMatchObject({ state: 'missing' });
  });
});
