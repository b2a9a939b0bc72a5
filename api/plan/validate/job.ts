import { isObject } from '../../core/json.js';
import type { Problem } from '../../core/problem.js';
import { renderValue } from '../template/render.js';
import type { JobAction } from '../types.js';
import { error, show, warning } from './fields.js';
import { checkName } from './names.js';
import { isSample, textsOf, trySample } from './sample.js';
import { checkTextMaps } from './text-maps.js';

/** Checks a Job action as far as the API server would refuse the Job, or the Job would never end. */
export function checkJob(job: JobAction, path: string): Problem[] {
  const template = `${path}.template`;
  const sample = trySample(template, textsOf(job.template), (scope) => renderValue(job.template, scope));
  if ('problems' in sample) return sample.problems;
  const written = isObject(sample.value) ? sample.value : {};
  return [
    ...checkName(job.namespace, `${path}.namespace`, 'label'),
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
