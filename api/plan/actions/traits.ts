/**
 * What workflow code has to know of action types. It must not load the schemas that the table of types holds, so this says
 * once more what the descriptors say; the compiler refuses any difference. A type without `traits` needs no line.
 */
import type { ActionTraits } from './descriptor.js';
import type { ACTIONS, ActionType, ActivityType, StepType } from './table.js';

type TraitsOf<Descriptor> = Descriptor extends { traits: infer Traits } ? Traits : never;
/** The types of a table that have traits, with these. */
export type Particular<Actions> = {
  readonly [Type in keyof Actions as Actions[Type] extends { traits: ActionTraits } ? Type : never]: TraitsOf<
    Actions[Type]
  >;
};

/** What is particular about types. */
export const PARTICULAR: Particular<typeof ACTIONS> = {
  HTTP: { noInverse: 'an HTTP action' },
  Job: { lingers: true },
  Wait: { isWait: true },
  Approval: { isStep: true },
  Plan: { isStep: true },
};

const NONE: ActionTraits = {};

/** What is particular about a type; nothing about one that is not known. */
export const traitsOf = (type: string): ActionTraits =>
  Object.hasOwn(PARTICULAR, type) ? PARTICULAR[type as keyof typeof PARTICULAR] : NONE;

/** Whether workflow code carries a type out itself. */
export const isStepType = (type: ActionType): type is StepType => traitsOf(type).isStep === true;

/** Name of the activity that carries out a type: the type in camel case, so that the Web UI names it. */
export type ActivityName<Type extends string = ActivityType> =
  Type extends Uppercase<Type> ? Lowercase<Type> : Uncapitalize<Type>;

/** That name: `http` for HTTP, `kubernetesResource` for KubernetesResource. */
export function activityOf<Type extends ActivityType>(type: Type): ActivityName<Type> {
  const isAcronym = type === type.toUpperCase();
  return (
    isAcronym ? type.toLowerCase() : `${type.charAt(0).toLowerCase()}${type.slice(1)}`
  ) as ActivityName<Type>;
}
