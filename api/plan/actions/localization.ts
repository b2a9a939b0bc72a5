import { z } from 'zod';
import { objectReferenceSchema, PRESERVE } from '../../core/schema.js';
import { operationField } from '../schema/common.js';
import { feedSchema } from '../schema/actions/feed.js';
import type { Problem } from '../../core/problem.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { checkOneForm, checkOverrideBody } from '../validate/clusternet.js';
import { checkName } from '../validate/names.js';
import type { ActionDescriptor } from './descriptor.js';

const OPERATIONS = ['Create', 'Apply', 'Patch', 'Delete'] as const;

const localizationActionSchema = z
  .object({
    operation: operationField(OPERATIONS),
    name: z.string().min(1).max(1024).describe('Name of the Localization.'),
    namespace: z
      .string()
      .min(1)
      .max(1024)
      .describe('Namespace of the Localization: that of the ManagedCluster.'),
    priority: z.int().min(0).max(1000).optional().describe('Priority, higher wins (default 500 on Create).'),
    overridePolicy: z
      .enum(['ApplyNow', 'ApplyLater'])
      .optional()
      .describe('When overrides take effect. Absent on Create: ApplyNow.'),
    feed: feedSchema.optional().describe('Source that is changed. Needed for Create.'),
    overrides: z
      .array(
        z
          .object({
            name: z.string().min(1).describe('Name of the override.'),
            type: z
              .string()
              .min(1)
              .describe(
                'JSONPatch, MergePatch or Helm; FieldJSONPatch or FieldMergePatch where Clusternet has them. May be a placeholder.',
              ),
            value: z.string().describe('Content of the override in YAML or JSON.'),
            overrideChart: z
              .boolean()
              .optional()
              .describe('Whether the HelmChart object is changed (type Helm only).'),
            fieldPath: z
              .string()
              .max(1024)
              .optional()
              .describe('Field whose text is changed, such as /data/config (Field… types only).'),
            fieldFormat: z
              .string()
              .max(64)
              .optional()
              .describe('YAML or JSON: what the field holds (Field… types only).'),
          })
          .describe('One change.'),
      )
      .max(256)
      .optional()
      .describe('Changes, applied in order.'),
    spec: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe("The Localization's spec as Clusternet knows it; an alternative to the fields beside it."),
  })
  .describe('A Clusternet Localization: overrides for one cluster.');
/** Localization action (in the original: LocalizationAction; flat, or nested under `spec`). */
export type LocalizationAction = z.infer<typeof localizationActionSchema>;

/** Localization: overrides of what Clusternet distributes, in one cluster. */
export const localization = {
  field: 'localization',
  schema: localizationActionSchema,
  title: 'The Localization (type Localization).',
  preflight: 'writes',
  operations: OPERATIONS,
  creates: true,
  deletion: 'derived',
  reference: 'localizationRef',
  outputs: {
    localizationRef: objectReferenceSchema.optional().describe('The Localization that was written.'),
  },
  names: { name: 'subdomain', namespace: 'label' },
  check: checkLocalization,
} as const satisfies ActionDescriptor<LocalizationAction>;

/** Checks a Localization action. */
function checkLocalization(block: LocalizationAction, _: StepFields, path: string): Problem[] {
  const spec = block.spec;
  return [
    ...checkOneForm(block, ['priority', 'overridePolicy', 'feed', 'overrides'], path),
    ...checkName(block.name, `${path}.name`, 'subdomain'),
    ...checkName(block.namespace, `${path}.namespace`, 'label'),
    ...checkOverrideBody(spec ?? block, block.operation, spec === undefined ? path : `${path}.spec`),
  ];
}
