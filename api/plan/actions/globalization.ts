import { z } from 'zod';
import { objectReferenceSchema, PRESERVE } from '../../core/schema.js';
import { operationField } from '../schema/common.js';
import type { Problem } from '../../core/problem.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { checkAffinity, checkOverrideBody } from '../validate/clusternet.js';
import { checkName } from '../validate/names.js';
import type { ActionDescriptor } from './descriptor.js';

const OPERATIONS = ['Create', 'Apply', 'Patch', 'Delete'] as const;

const globalizationActionSchema = z
  .object({
    operation: operationField(OPERATIONS),
    name: z.string().min(1).max(1024).describe('Name of the Globalization, which has no namespace.'),
    spec: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe(
        "The Globalization's spec as Clusternet knows it: feed, overrides, clusterAffinity, priority (default 500 on Create) and overridePolicy (absent on Create: ApplyNow).",
      ),
  })
  .describe('A Clusternet Globalization: overrides for many clusters.');
/** Globalization action (the original's later releases). */
export type GlobalizationAction = z.infer<typeof globalizationActionSchema>;

/** Globalization: overrides of what Clusternet distributes, in many clusters. */
export const globalization = {
  field: 'globalization',
  schema: globalizationActionSchema,
  title: 'The Globalization (type Globalization).',
  preflight: 'writes',
  operations: OPERATIONS,
  creates: true,
  deletion: 'derived',
  reference: 'globalizationRef',
  outputs: {
    globalizationRef: objectReferenceSchema.optional().describe('The Globalization that was written.'),
  },
  names: { name: 'subdomain' },
  check: checkGlobalization,
} as const satisfies ActionDescriptor<GlobalizationAction>;

/** Checks a Globalization action. */
function checkGlobalization(block: GlobalizationAction, _: StepFields, path: string): Problem[] {
  const { operation, spec = {} } = block;
  const affinity = spec.clusterAffinity;
  return [
    ...checkName(block.name, `${path}.name`, 'subdomain'),
    ...checkOverrideBody(spec, operation, `${path}.spec`),
    ...(operation === 'Delete' || affinity === undefined || affinity === null
      ? []
      : checkAffinity(affinity, `${path}.spec.clusterAffinity`)),
  ];
}
