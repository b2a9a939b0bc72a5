import { LABELS } from '../../../api/core/group.js';
import { isObject } from '../../../api/core/json.js';
import { jobName } from '../../../api/plan/naming.js';
import { renderString, renderValue } from '../../../api/plan/template/render.js';
import type { JobAction } from '../../../api/plan/types.js';
import type { KubeMeta, KubeObject } from '../../../kube/object.js';
import { hookId } from '../../core/clean-up.js';
import type { Attempt, AttemptResult } from '../../core/handler.js';
import { withMarks } from '../../core/marks.js';

/** Namespace of Jobs that name none (S1.15). */
const DEFAULT_JOB_NAMESPACE = 'default';
/**
 * Least time a finished Job stays: its result is read first, and its own TTL set afterwards. Bounds what a run that
 * never comes back leaves behind.
 */
const TTL_WHILE_RUNNING_SECONDS = 86_400;

type Failed = Extract<AttemptResult, { kind: 'failed' }>;

/** The Job that an action asks for. */
export interface JobPlan {
  job: KubeObject & { metadata: KubeMeta & { namespace: string } };
  /** `ttlSecondsAfterFinished` that was asked for, set once the result is known. */
  ttlSeconds: number | undefined;
}

/**
 * The Job of an attempt: everything rendered, named after the key of the round (S3.25). Takes a
 * JobTemplateSpec, a whole Job, and a bare JobSpec.
 *
 * @throws RenderError for placeholders
 */
export function planJob(block: JobAction, attempt: Attempt): JobPlan | Failed {
  const namespace = namespaceOf(block, attempt);
  const template = renderValue(block.template, attempt.scope) as Record<string, unknown>;
  if (template.kind !== undefined && template.kind !== 'Job') {
    return invalid(`job.template is a ${text(template.kind)}; give the metadata and spec of a batch/v1 Job`);
  }
  const spec = isObject(template.spec) ? template.spec : template;
  if (!isObject(spec.template) || !isObject(spec.template.spec)) {
    return invalid(
      'job.template has no pod template; it needs spec.template.spec with containers, as in a batch/v1 Job',
    );
  }
  if (spec.suspend === true) {
    return invalid('job.template has suspend: true; a suspended Job never ends, so remove it');
  }
  const {
    name: _name,
    generateName: _generateName,
    namespace: own,
    ...metadata
  } = isObject(template.metadata) ? template.metadata : {};
  if (own !== undefined && own !== namespace) {
    return invalid(
      `job.template.metadata.namespace is ${text(own)}, but job.namespace is "${namespace}"; set job.namespace`,
    );
  }
  const asked = block.ttlSecondsAfterFinished ?? spec.ttlSecondsAfterFinished;
  const ttlSeconds = typeof asked === 'number' ? asked : undefined;
  const job = withMarks(
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        ...withHook(metadata, attempt),
        name: jobName({
          executionName: attempt.task.run.name,
          actionName: attempt.task.name,
          key: attempt.key,
        }),
        namespace,
      },
      spec: {
        ...spec,
        template: withPodMarks(spec.template, attempt),
        ...(ttlSeconds !== undefined && {
          ttlSecondsAfterFinished: Math.max(ttlSeconds, TTL_WHILE_RUNNING_SECONDS),
        }),
      },
    },
    attempt,
  );
  return { job: { ...job, metadata: { ...job.metadata, namespace } }, ttlSeconds };
}

/** Marks the pods too: they outlive a deleted Job, and are then its only trace. */
function withPodMarks(template: Record<string, unknown>, attempt: Attempt): unknown {
  const { metadata } = withMarks(
    {
      metadata: withHook(
        isObject(template.metadata) ? template.metadata : {},
        attempt,
      ) as unknown as KubeMeta,
    },
    attempt,
  );
  return { ...template, metadata };
}

/** Metadata by which a later run of the same hook finds what this one has left. */
const withHook = (metadata: Record<string, unknown>, { action, task }: Attempt): Record<string, unknown> =>
  action.hookCleanup?.beforeCreate === true
    ? {
        ...metadata,
        labels: { ...(isObject(metadata.labels) ? metadata.labels : {}), [LABELS.hook]: hookId(task) },
      }
    : metadata;

/** Namespace of an action's Job. */
export function namespaceOf(block: JobAction, attempt: Attempt): string {
  return renderString(block.namespace ?? '', attempt.scope).trim() || DEFAULT_JOB_NAMESPACE;
}

const text = (value: unknown): string => JSON.stringify(value) ?? 'nothing';

const invalid = (message: string): Failed => ({
  kind: 'failed',
  reason: 'InvalidJob',
  message,
  effect: 'None',
});
