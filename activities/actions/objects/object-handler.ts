/** The life of an action on Kubernetes objects: what differs from type to type is passed in. */
import type { Refusal } from '../../../api/core/refusal.js';
import type { ActionOutputs, ObjectReference } from '../../../api/plan/types.js';
import { keyOf } from '../../../kube/client.js';
import type { KubeObject } from '../../../kube/object.js';
import type { Attempt, AttemptResult, Handler } from '../../core/handler.js';
import { isAutomaticUndo, refused, settleUndo } from './object-action.js';
import type { OutputsOf } from './object-action.js';
import { captureAll, performAll } from './object-perform.js';
import type { Performed } from './object-perform.js';
import { settleAll } from './object-settle.js';
import { undoAll } from './object-undo-all.js';
import { carryOut } from './object-effect.js';
import type { EffectBounds, ObjectEffect } from './object-effect.js';
import type { ObjectTask } from '../../core/object-task.js';

/** What an action is to do, rendered; or what is wrong with it. */
export type Rendered<Plan extends ObjectPlan> = Plan | ({ ok: false } & Refusal);

/** What an action is to do. */
export interface ObjectPlan {
  ok: true;
  tasks: ObjectTask[];
  /** What a person should know before it is done. */
  warning?: string;
}

/** What a type of action has of its own. */
export interface ObjectRules<Plan extends ObjectPlan> {
  /** `find` looks only for what was done, so that what has changed around it since does not matter. */
  render: (attempt: Attempt, purpose: 'act' | 'find') => Promise<Rendered<Plan>>;
  outputsOf: (plan: Plan) => OutputsOf;
  /** Why nothing is begun. */
  obstacle?: (plan: Plan, attempt: Attempt) => Promise<AttemptResult | undefined>;
  /** Carries out one task; default: as the operation says. */
  perform?: (task: ObjectTask, attempt: Attempt, plan: Plan) => Promise<ObjectEffect>;
  /** Ends an action whose tasks are all carried out; default: it has succeeded. */
  conclude?: (plan: Plan, performed: Performed, attempt: Attempt) => Promise<AttemptResult>;
  /** Called with an object that an undo is about to delete. */
  beforeDelete?: (object: KubeObject, attempt: Attempt) => Promise<string | undefined>;
}

/** What such a handler always can. */
export type ObjectHandler = Handler & Required<Pick<Handler, 'capture' | 'leftovers' | 'writes'>>;

/** A handler that performs, captures, undoes and settles by the rules of a type. */
export function createObjectHandler<Plan extends ObjectPlan>(
  rules: ObjectRules<Plan>,
  bounds: EffectBounds,
): ObjectHandler {
  const { perform, beforeDelete } = rules;
  /** Everything is looked at before anything is written. */
  const render = async (attempt: Attempt): Promise<Rendered<Plan>> => {
    const plan = await rules.render(attempt, 'act');
    if (!plan.ok) return plan;
    const refusals = plan.tasks.map(({ object, operation }) =>
      attempt.policy.refuseObject(object, operation),
    );
    const message = refusals.find((refusal) => refusal !== undefined);
    return message === undefined ? plan : { ok: false, reason: 'PolicyRefused', message };
  };
  return {
    async writes(attempt) {
      const plan = await render(attempt);
      if (!plan.ok) return plan;
      const { tasks, warning } = plan;
      return { ok: true, tasks, ...(warning !== undefined && { warning }) };
    },
    async run(attempt) {
      const plan = await render(attempt);
      if (!plan.ok) return refused(plan);
      const obstacle = await rules.obstacle?.(plan, attempt);
      if (obstacle !== undefined) return obstacle;
      const performed = await performAll(plan.tasks, attempt, {
        outputsOf: rules.outputsOf(plan),
        perform: (task, tracked) =>
          perform === undefined ? carryOut(task, tracked, bounds) : perform(task, tracked, plan),
      });
      if (performed.stopped !== undefined) return performed.stopped;
      return rules.conclude?.(plan, performed, attempt) ?? succeeded(performed, [performed.notes]);
    },
    async capture(attempt) {
      const plan = await render(attempt);
      if (!plan.ok) return { kind: 'failed', reason: plan.reason, message: plan.message };
      return captureAll(plan.tasks, attempt);
    },
    async leftovers(attempt) {
      const plan = await rules.render(attempt, 'find');
      if (!plan.ok) return refused(plan);
      return plan.tasks.flatMap(({ operation, object }) =>
        operation === 'Patch' || operation === 'Delete' ? [] : [{ key: keyOf(object) }],
      );
    },
    async undo(attempt) {
      return undoAll(attempt, {
        bounds,
        forwardTasks: async () => {
          const plan = await rules.render(attempt, 'find');
          return plan.ok ? plan.tasks : [];
        },
        ...(beforeDelete !== undefined && {
          beforeDelete: (object: KubeObject) => beforeDelete(object, attempt),
        }),
      });
    },
    async settle(attempt) {
      if (isAutomaticUndo(attempt)) return settleUndo();
      const plan = await rules.render(attempt, 'find');
      return plan.ok ? settleAll(plan.tasks, attempt, rules.outputsOf(plan)) : refused(plan);
    },
  };
}

/** A success with what a person should know besides. */
export function succeeded(performed: Performed, notes: readonly (string | undefined)[]): AttemptResult {
  const message = joined(notes);
  return { kind: 'succeeded', outputs: performed.outputs, ...(message !== undefined && { message }) };
}

/** Joins the parts of a message that are present. */
export function joined(parts: readonly (string | undefined)[]): string | undefined {
  const present = parts.filter((part) => part !== undefined);
  return present.length === 0 ? undefined : present.join('; ');
}

/** Outputs of a type that writes one object. */
export const oneReference =
  (field: 'localizationRef' | 'globalizationRef' | 'helmChartRef' | 'subscriptionRef'): OutputsOf =>
  (references: ObjectReference[], created: ObjectReference[]): ActionOutputs => ({
    ...(references[0] !== undefined && { [field]: references[0] }),
    ...(created.length > 0 && { created }),
  });

/** A refusal of what is written. */
export const invalid = (message: string): { ok: false } & Refusal => ({
  ok: false,
  reason: 'InvalidSpec',
  message,
});
