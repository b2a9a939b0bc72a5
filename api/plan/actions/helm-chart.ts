import { z } from 'zod';
import { objectReferenceSchema, PRESERVE } from '../../core/schema.js';
import { operationField } from '../schema/common.js';
import type { Problem } from '../../core/problem.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { error, show } from '../../core/fields.js';
import { checkName } from '../validate/names.js';
import { isTemplated } from '../validate/sample.js';
import type { ActionDescriptor } from './descriptor.js';

const OPERATIONS = ['Create', 'Apply', 'Patch', 'Delete'] as const;

const helmChartActionSchema = z
  .object({
    operation: operationField(OPERATIONS),
    name: z.string().min(1).max(1024).describe('Name of the HelmChart.'),
    namespace: z.string().min(1).max(1024).describe('Namespace of the HelmChart.'),
    spec: z
      .looseObject({})
      .optional()
      .meta(PRESERVE)
      .describe(
        "The HelmChart's spec as Clusternet knows it; Create and Apply need repo, chart and targetNamespace.",
      ),
  })
  .describe('A Clusternet HelmChart: a chart that Subscriptions can deploy.');
/** HelmChart action (the original's later releases). */
export type HelmChartAction = z.infer<typeof helmChartActionSchema>;

/** HelmChart: a chart that Subscriptions of Clusternet can deploy. */
export const helmChart = {
  field: 'helmChart',
  schema: helmChartActionSchema,
  title: 'The HelmChart (type HelmChart).',
  preflight: 'writes',
  operations: OPERATIONS,
  creates: true,
  waitsReady: true,
  deletion: 'derived',
  reference: 'helmChartRef',
  outputs: {
    helmChartRef: objectReferenceSchema.optional().describe('The HelmChart that was written.'),
  },
  names: { name: 'subdomain', namespace: 'label' },
  check: checkHelmChart,
} as const satisfies ActionDescriptor<HelmChartAction>;

/** Checks a HelmChart action. */
function checkHelmChart(chart: HelmChartAction, _: StepFields, path: string): Problem[] {
  const { operation = 'Create', spec = {} } = chart;
  const problems = [
    ...checkName(chart.name, `${path}.name`, 'subdomain'),
    ...checkName(chart.namespace, `${path}.namespace`, 'label'),
  ];
  if (operation === 'Delete') return problems;
  if (operation === 'Patch' || isTemplated(operation)) return problems;
  for (const field of ['repo', 'chart', 'targetNamespace']) {
    const value = spec[field];
    if (typeof value === 'string' && value !== '') continue;
    const message = `is ${show(value)}; operation ${operation || 'Create'} needs repo, chart and targetNamespace`;
    problems.push(error(`${path}.spec.${field}`, 'InvalidField', message));
  }
  const { repo } = spec;
  if (typeof repo === 'string' && repo !== '' && !isTemplated(repo) && !/^(https?|oci):\/\//.test(repo)) {
    const message = `is ${show(repo)}; must begin with http://, https:// or oci://`;
    problems.push(error(`${path}.spec.repo`, 'InvalidField', message));
  }
  return problems;
}
