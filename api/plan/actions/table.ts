/** The action types: one line each. */
import { approval } from './approval.js';
import type { ActionDescriptor } from './descriptor.js';
import { globalization } from './globalization.js';
import { helmChart } from './helm-chart.js';
import { http } from './http.js';
import { job } from './job.js';
import { kubernetesResource } from './kubernetes-resource.js';
import { localization } from './localization.js';
import { notify } from './notify.js';
import { plan } from './plan.js';
import { subscription } from './subscription.js';
import { wait } from './wait.js';

/** What is said of each type. The order is that of definitions, reference and messages: a new one goes last. */
export const ACTIONS = {
  HTTP: http,
  Job: job,
  Localization: localization,
  Globalization: globalization,
  HelmChart: helmChart,
  Subscription: subscription,
  KubernetesResource: kubernetesResource,
  Wait: wait,
  Notify: notify,
  Approval: approval,
  Plan: plan,
} as const satisfies Record<string, ActionDescriptor>;

type Actions = typeof ACTIONS;

/** Type of an action (in the original: Action). */
export type ActionType = keyof Actions;
/** A type that workflow code carries out itself. */
export type StepType = WithTrait<'isStep'>;
/** A type that a handler carries out, in an activity. */
export type ActivityType = Exclude<ActionType, StepType>;
type WithTrait<Trait extends string> = {
  [T in ActionType]: Actions[T] extends { traits: Record<Trait, unknown> } ? T : never;
}[ActionType];

/** The types of actions, in the order of the table. */
export const ACTION_TYPES = Object.keys(ACTIONS) as readonly ActionType[];

/** The types that a handler carries out. */
export const ACTIVITY_TYPES: readonly ActivityType[] = ACTION_TYPES.filter(
  (type): type is ActivityType => descriptorOf(type).traits?.isStep !== true,
);

/** What is said of a type. */
export function descriptorOf(type: ActionType): ActionDescriptor {
  return ACTIONS[type];
}

/** Whether a text is the name of an action type that a run can execute. */
export function isActionType(type: unknown): type is ActionType {
  return typeof type === 'string' && Object.hasOwn(ACTIONS, type);
}

/** The same for a text that need not name a type: then undefined. */
export const findDescriptor = (type: string | undefined): ActionDescriptor | undefined =>
  isActionType(type) ? descriptorOf(type) : undefined;

/** The types of which something is true. */
export const typesWhere = (is: (descriptor: ActionDescriptor) => boolean): ActionType[] =>
  ACTION_TYPES.filter((type) => is(descriptorOf(type)));
