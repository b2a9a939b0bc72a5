/** What lines of the log and traces say of the activities of a run: names and positions, never what an action holds. */
import type { ActionTask } from './contract-tasks.js';
import type { RunIdentity } from './contract.js';

/** What an activity is about, by its input. Whatever came through Temporal is read with care: what is no text is left out. */
export function aboutActivity(input: unknown): Record<string, string> {
  const { task, update } = fieldsOf(input);
  const inner = fieldsOf(task ?? update ?? input) as Partial<ActionTask>;
  return textsOf({ ...aboutRun(fieldsOf(inner.run)), ...aboutAction(inner) });
}

/** How an activity's result says that what it was about has failed: the reason, a word of ours. */
export function failureOf(result: unknown): string | undefined {
  const { phase, kind, reason } = fieldsOf(result);
  const hasFailed = phase === 'Failed' || kind === 'failed';
  return hasFailed ? (typeof reason === 'string' ? reason : 'Failed') : undefined;
}

const aboutRun = ({ namespace, name, plan, operation }: Fields<RunIdentity>): object =>
  typeof namespace === 'string' && typeof name === 'string'
    ? { execution: `${namespace}/${name}`, plan: fieldsOf(plan).name, operation }
    : {};

function aboutAction({ at, name, type, direction }: Fields<ActionTask>): object {
  const { stage, workflow, action, cluster } = fieldsOf(at);
  return {
    action: name,
    'action.type': type,
    direction,
    ...(typeof stage === 'number' && { position: [stage, workflow, action].join('/') }),
    cluster,
  };
}

type Fields<T> = Partial<Record<keyof T, unknown>>;

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const textsOf = (about: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(about).flatMap(([name, value]: [string, unknown]) =>
      typeof value === 'string' ? [[name, value]] : [],
    ),
  );
