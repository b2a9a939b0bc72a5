import { z } from 'zod';
import { objectReferenceSchema, PRESERVE } from '../../core/schema.js';
import { isObject } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import type { Policy } from '../policy.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { renderString, renderValue } from '../template/render.js';
import { error, show, warning } from '../../core/fields.js';
import { checkName } from '../validate/names.js';
import { isSample, sampled, textsOf, trySample } from '../validate/sample.js';
import { checkTextMaps } from '../validate/text-maps.js';
import type { ActionDescriptor, RefusedPlace, WrittenObject } from './descriptor.js';

const jobActionSchema = z
  .object({
    namespace: z.string().max(253).optional().describe('Namespace of the Job (default "default").'),
    template: z
      .looseObject({})
      .meta(PRESERVE)
      .describe('Job template: metadata and spec of a batch/v1 Job. Placeholders are filled in everywhere.'),
    ttlSecondsAfterFinished: z
      .int()
      .min(0)
      .optional()
      .describe('Seconds to keep the finished Job; overrides the template.'),
  })
  .describe('A Job that runs to its end.');
/** Job action (in the original: JobAction). */
export type JobAction = z.infer<typeof jobActionSchema>;

/** Job: runs to its end, in the cluster or in another one. */
export const job = {
  field: 'job',
  schema: jobActionSchema,
  title: 'The Job (type Job).',
  preflight: 'writes',
  traits: { lingers: true },
  creates: true,
  targetable: true,
  hasOwnBackoff: true,
  outputs: { jobRef: objectReferenceSchema.optional().describe('The Job that was created.') },
  names: { namespace: 'label' },
  check: checkJob,
  refusals: refusalsOf,
  objects: objectsOf,
} as const satisfies ActionDescriptor<JobAction>;

/** Checks a Job action as far as the API server would refuse the Job, or the Job would never end. */
function checkJob(block: JobAction, _: StepFields, path: string): Problem[] {
  const template = `${path}.template`;
  const sample = trySample(template, textsOf(block.template), (scope) => renderValue(block.template, scope));
  if ('problems' in sample) return sample.problems;
  const written = isObject(sample.value) ? sample.value : {};
  return [
    ...checkName(block.namespace, `${path}.namespace`, 'label'),
    ...checkTemplate(written, template),
    ...checkTextMaps({ apiVersion: 'batch/v1', kind: 'Job', ...written }, '', template),
  ];
}

function checkTemplate(template: Record<string, unknown>, path: string): Problem[] {
  const { metadata, spec } = template;
  if (!isObject(spec)) {
    return [error(`${path}.spec`, 'InvalidJob', `is ${show(spec)}; must be the spec of a batch/v1 Job`)];
  }
  const problems: Problem[] = [];
  if (isObject(metadata) && (metadata.name !== undefined || metadata.generateName !== undefined)) {
    problems.push(
      warning(
        `${path}.metadata`,
        'IgnoredField',
        'the name is ignored: a Job is named after execution and action',
      ),
    );
  }
  if (spec.suspend === true) {
    problems.push(
      error(`${path}.spec.suspend`, 'InvalidJob', 'is true; a suspended Job never ends: remove it'),
    );
  }
  if (spec.managedBy !== undefined && spec.managedBy !== 'kubernetes.io/job-controller') {
    problems.push(
      warning(
        `${path}.spec.managedBy`,
        'SuspectField',
        'hands the Job to another controller, which must report its end',
      ),
    );
  }
  const pod = isObject(spec.template) ? spec.template.spec : undefined;
  if (!isObject(pod)) {
    problems.push(
      error(
        `${path}.spec.template.spec`,
        'InvalidJob',
        `is ${show(pod)}; must be the spec of a pod with containers`,
      ),
    );
    return problems;
  }
  return [...problems, ...checkPod(pod, `${path}.spec.template.spec`)];
}

function checkPod(pod: Record<string, unknown>, path: string): Problem[] {
  const problems: Problem[] = [];
  const { restartPolicy, containers } = pod;
  if (restartPolicy !== 'Never' && restartPolicy !== 'OnFailure' && !isSample(restartPolicy)) {
    const message = `is ${show(restartPolicy)}; the pod of a Job needs Never or OnFailure`;
    problems.push(error(`${path}.restartPolicy`, 'InvalidJob', message));
  }
  if (!Array.isArray(containers) || containers.length === 0) {
    problems.push(
      error(`${path}.containers`, 'InvalidJob', `is ${show(containers)}; needs at least one container`),
    );
    return problems;
  }
  for (const [index, container] of (containers as unknown[]).entries()) {
    for (const field of ['name', 'image'] as const) {
      const value = isObject(container) ? container[field] : undefined;
      if (typeof value === 'string' && value !== '') continue;
      problems.push(
        error(`${path}.containers[${index}].${field}`, 'InvalidJob', `is ${show(value)}; must be text`),
      );
    }
  }
  return problems;
}

/** What policies say of the Job that the template makes. */
function refusalsOf({ template: written, namespace: own }: JobAction, policy: Policy): RefusedPlace[] {
  const template = sampled(textsOf(written), (scope) => renderValue(written, scope));
  const namespace = sampled([own ?? ''], (scope) => renderString(own || 'default', scope));
  const spec = isObject(template) && isObject(template.spec) ? template.spec : template;
  const object = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'of the action', namespace },
    spec,
  };
  return [{ at: 'job.template', why: policy.refuseObject(object, 'Create') }];
}

function objectsOf({ template: written }: JobAction, path: string): WrittenObject[] {
  if (!isObject(written)) return [];
  const rendered = sampled(textsOf(written), (scope) => renderValue(written, scope));
  const template = isObject(rendered) ? rendered : {};
  const spec = isObject(template.spec) ? template : { spec: template };
  const object = { apiVersion: 'batch/v1', kind: 'Job', ...spec };
  return [{ path: `${path}.template`, which: '', object, isLenient: false, isStrategic: false }];
}
