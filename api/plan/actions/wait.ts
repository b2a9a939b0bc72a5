import { z } from 'zod';
import { parseDuration } from '../../core/duration.js';
import { readJsonPath } from '../../core/json-path.js';
import { checkObjectCondition } from '../../core/object-condition.js';
import type { Problem } from '../../core/problem.js';
import type { Scalar } from '../schema/common.js';
import type { StepFields } from '../schema/actions/step-fields.js';
import { findPlaceholders } from '../template/placeholders.js';
import { renderKnown } from '../template/render-known.js';
import { error, show, warning } from '../../core/fields.js';
import { checkName } from '../validate/names.js';
import { isTemplated } from '../validate/sample.js';
import type { ActionDescriptor } from './descriptor.js';
import type { StepInput } from './step-input.js';

/** Longest wait: 30 days, as for a timeout. */
const MAX_WAIT_MS = 30 * 24 * 3_600_000;

const waitActionSchema = z
  .object({
    duration: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('Time to wait, such as 30s or 5m. May be a placeholder of a parameter. Excludes `for`.'),
    for: z
      .object({
        apiVersion: z.string().min(1).max(253).describe('API version of the object.'),
        kind: z.string().min(1).max(253).describe('Kind of the object.'),
        namespace: z
          .string()
          .max(253)
          .optional()
          .describe("Namespace of the object (default: the execution's)."),
        name: z.string().min(1).max(253).describe('Name of the object.'),
      })
      .optional()
      .describe('The object to watch. It need not exist yet. Placeholders are filled in.'),
    condition: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'CEL condition over `object`, which is null while there is none, such as object.status.readyReplicas >= 2.',
      ),
    jsonPath: z
      .string()
      .min(1)
      .max(1024)
      .optional()
      .describe('Instead of condition: a path as kubectl knows it, such as {.status.phase}.'),
    failWhen: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'CEL condition over `object` as for condition: when it holds, the wait ends as Failed at once, such as object.status.phase == "Lost".',
      ),
    value: z
      .string()
      .max(1024)
      .optional()
      .describe('Value that jsonPath must find; absent: any value. Placeholders are filled in.'),
  })
  .describe('A wait: for a time, or until an object is as it should be. Changes nothing.');
/** Wait action (added). */
export type WaitAction = z.infer<typeof waitActionSchema>;

/** Wait: for a time, which is a timer of the workflow, or for an object, which an activity watches. */
export const wait = {
  field: 'wait',
  schema: waitActionSchema,
  title: 'What is waited for (type Wait).',
  preflight: 'nothing',
  traits: { isWait: true },
  targetable: true,
  check: checkWait,
  changesNothing: () => true,
  step: timerOf,
  checkFilledIn: checkDuration,
  summary: summaryOf,
} as const satisfies ActionDescriptor<WaitAction>;

/** Checks a Wait: exactly one thing to wait for, and a condition that can be evaluated. */
function checkWait(block: WaitAction, step: StepFields, path: string): Problem[] {
  if ((block.duration === undefined) === (block.for === undefined)) {
    const found = block.duration === undefined ? 'neither' : 'both';
    return [error(path, 'InvalidField', `has ${found} of duration and for; write one of them`)];
  }
  return block.duration !== undefined ? checkTimer(block, step, path) : checkObject(block, path);
}

function checkTimer(block: WaitAction, step: StepFields, path: string): Problem[] {
  const { duration = '' } = block;
  const problems: Problem[] = [];
  const ms = parseDuration(duration);
  if (isTemplated(duration)) {
    if (findPlaceholders(duration).placeholders.some(({ reference }) => reference.kind === 'builtIn')) {
      problems.push(
        error(
          `${path}.duration`,
          'InvalidField',
          `is ${show(duration)}; only a parameter or an output can give a duration`,
        ),
      );
    }
  } else if (ms === undefined || ms <= 0 || ms > MAX_WAIT_MS) {
    const message = `is ${show(duration)}; must be a duration above 0 and at most 720h, such as 30s, 5m or 1h30m`;
    problems.push(error(`${path}.duration`, 'InvalidField', message));
  }
  for (const field of ['condition', 'jsonPath', 'value', 'failWhen'] as const) {
    if (block[field] === undefined) continue;
    problems.push(
      error(
        `${path}.${field}`,
        'InvalidField',
        'belongs to a wait for an object; remove it, or write for instead of duration',
      ),
    );
  }
  const outer = path.replace(/\.wait$/, '');
  if (step.target !== undefined) {
    problems.push(
      error(
        `${outer}.target`,
        'UnsupportedField',
        'is set, but a wait for a time needs no cluster; remove it',
      ),
    );
  }
  for (const field of ['timeout', 'totalTimeout', 'retryPolicy'] as const) {
    if (step[field] === undefined) continue;
    problems.push(warning(`${outer}.${field}`, 'IgnoredField', 'has no effect on a wait for a time'));
  }
  return problems;
}

function checkObject(block: WaitAction, path: string): Problem[] {
  const { condition, jsonPath, value } = block;
  const problems = [
    ...checkName(block.for?.name, `${path}.for.name`, 'subdomain'),
    ...checkName(block.for?.namespace, `${path}.for.namespace`, 'label'),
  ];
  if ((condition === undefined) === (jsonPath === undefined)) {
    const found = condition === undefined ? 'neither' : 'both';
    problems.push(error(path, 'InvalidField', `has ${found} of condition and jsonPath; write one of them`));
  }
  for (const field of ['condition', 'failWhen'] as const) {
    const written = block[field];
    if (written === undefined) continue;
    const fault = isTemplated(written)
      ? 'holds a placeholder; a condition is over object only: compare with jsonPath and value instead'
      : checkObjectCondition(written);
    if (fault !== undefined) problems.push(error(`${path}.${field}`, 'InvalidCondition', fault));
  }
  if (jsonPath !== undefined) {
    const read = readJsonPath(jsonPath);
    if (!read.ok)
      problems.push(error(`${path}.jsonPath`, 'InvalidField', `is ${show(jsonPath)}; it ${read.problem}`));
  } else if (value !== undefined) {
    problems.push(
      error(
        `${path}.value`,
        'InvalidField',
        'belongs to jsonPath; add jsonPath, or write the value into the condition',
      ),
    );
  }
  return problems;
}

/** The timer's length is known unless outputs or a condition decide. */
function timerOf(
  { duration }: WaitAction,
  { when }: StepFields,
  params: Record<string, Scalar>,
): StepInput | undefined {
  if (duration === undefined) return undefined;
  const ms = when === undefined ? parseDuration(renderKnown(duration, params) ?? '') : undefined;
  return { kind: 'timer', ...(ms !== undefined && { ms }) };
}

/** A duration that parameters give must be one now. */
function checkDuration({ duration }: WaitAction, params: Record<string, Scalar>, path: string): Problem[] {
  const text = duration === undefined ? undefined : renderKnown(duration, params);
  if (text === undefined || (parseDuration(text) ?? 0) > 0) return [];
  const message = `becomes "${text}" with these parameters; must be a duration above 0, such as 30s, 5m or 1h30m`;
  return [error(`${path}.duration`, 'InvalidField', message)];
}

/** What a Wait waits for. */
function summaryOf({ duration, for: object, condition, jsonPath, value }: WaitAction): string {
  if (object === undefined) return `for ${duration ?? 'nothing'}`;
  const what = condition ?? `${jsonPath ?? ''}${value === undefined ? '' : ` is ${value}`}`;
  return `until ${object.kind} ${object.name}: ${what}`;
}
