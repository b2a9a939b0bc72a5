import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { z } from 'zod';
import { compileRun } from '../api/plan/snapshot/compile.js';
import { executionSpecSchema } from '../api/plan/schema/execution.js';
import { planSpecSchema } from '../api/plan/schema/plan.js';
import { workflowSpecSchema } from '../api/plan/schema/workflow.js';
import { takeSnapshot } from '../api/plan/snapshot/snapshot.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../api/plan/types.js';
import { validateExecutionSpec, validatePlan, validateWorkflow } from '../api/plan/validate/index.js';

interface Loaded {
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: unknown;
}

const folder = fileURLToPath(new URL('.', import.meta.url));
const entries = await readdir(folder, { withFileTypes: true, recursive: true });
const files = entries.filter((entry) => entry.name.endsWith('.yaml'));
const objects: Loaded[] = [];
for (const file of files) {
  for (const document of parseAllDocuments(await readFile(`${file.parentPath}/${file.name}`, 'utf8'))) {
    expect(document.errors).toEqual([]);
    objects.push(document.toJS() as Loaded);
  }
}
const all = <T>(kind: string): T[] => objects.filter((object) => object.kind === kind) as T[];
const workflows = all<DRWorkflow>('DRWorkflow');
const plans = all<DRPlan>('DRPlan');
const executions = all<DRPlanExecution>('DRPlanExecution');

const lookup = (namespace: string, name: string): DRWorkflow | undefined =>
  workflows.find(({ metadata }) => metadata.name === name && (metadata.namespace ?? 'default') === namespace);

/** Strict, so that a misspelt field of an example is found. */
const SCHEMAS: Record<string, z.ZodObject> = {
  DRWorkflow: workflowSpecSchema.strict(),
  DRPlan: planSpecSchema.strict(),
  DRPlanExecution: executionSpecSchema.strict(),
};

test.each(objects.filter(({ kind }) => kind in SCHEMAS))(
  '$kind $metadata.name has the fields of its kind',
  (object) => {
    expect(SCHEMAS[object.kind]?.safeParse(object.spec).error).toBeUndefined();
  },
);

test.each(workflows)('workflow $metadata.name is Ready without a warning', (workflow) => {
  expect(validateWorkflow(workflow)).toEqual([]);
});

test.each(executions)('execution $metadata.name is valid', (execution) => {
  expect(validateExecutionSpec(execution)).toEqual([]);
});

test.each(plans)('plan $metadata.name can be executed', (plan) => {
  const namespace = plan.metadata.namespace;
  const { snapshot, missing } = takeSnapshot({
    plan,
    execution: executions.find((execution) => execution.spec.planRef === plan.metadata.name) ?? {
      metadata: { name: 'some', ...(namespace !== undefined && { namespace }) },
      spec: { planRef: plan.metadata.name, operationType: 'Execute' },
    },
    lookup,
  });
  expect(missing).toEqual([]);
  expect(validatePlan(plan, lookup)).toEqual([]);
  const compiled = compileRun({ snapshot });
  expect(compiled).toMatchObject({ ok: true, warnings: [] });
});

test('every execution and revert of an example names what is there', () => {
  for (const { metadata, spec } of executions) {
    const plan = plans.find(({ metadata: { name } }) => name === spec.planRef);
    expect(plan?.metadata.namespace).toBe(metadata.namespace);
    if (spec.operationType === 'Execute') continue;
    expect(executions.map((execution) => execution.metadata.name)).toContain(spec.revertExecutionRef);
  }
});

test('the README shows the minimal plan as it is', async () => {
  const readme = await readFile(`${folder}../README.md`, 'utf8');
  const plan = await readFile(`${folder}minimal/plan.yaml`, 'utf8');
  expect(readme).toContain(plan);
  expect(plan.trim().split('\n')).toHaveLength(15);
});
