import { API_VERSION, type Kind, PLURALS } from '../../../api/core/group.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import { CliError } from './cli-error.js';
import { nearNames } from '../../../api/core/near.js';

/** Types of the three kinds, by name. */
export interface ObjectOf {
  DRPlan: DRPlan;
  DRPlanExecution: DRPlanExecution;
  DRWorkflow: DRWorkflow;
}

/** What a person calls a kind. */
export const KIND_WORDS: Record<Kind, string> = {
  DRPlan: 'plan',
  DRPlanExecution: 'execution',
  DRWorkflow: 'workflow',
};

/** Names of a kind that the command line takes: singular, plural, short name, resource name. */
const ALIASES: Record<Kind, readonly string[]> = {
  DRPlan: ['plan', 'plans', 'drp', 'drplan', PLURALS.DRPlan],
  DRPlanExecution: ['execution', 'executions', 'exec', 'drpx', 'drplanexecution', PLURALS.DRPlanExecution],
  DRWorkflow: ['workflow', 'workflows', 'drwf', 'drworkflow', PLURALS.DRWorkflow],
};

/** The kind that a word of the command line means. */
export function kindOf(word: string): Kind | undefined {
  const wanted = word.toLowerCase();
  return (Object.keys(ALIASES) as Kind[]).find((kind) => ALIASES[kind].includes(wanted));
}

/** Key of an object of ours. */
export const keyFor = (kind: Kind, namespace: string, name: string) =>
  ({ apiVersion: API_VERSION, kind, namespace, name }) as const;

/** All objects of a kind, in a namespace or (undefined) in all. */
export async function listObjects<K extends Kind>(
  kube: KubeClient,
  kind: K,
  namespace: string | undefined,
): Promise<ObjectOf[K][]> {
  const PAGE = 500;
  const items: ObjectOf[K][] = [];
  let next: string | undefined;
  do {
    const page = await kube.list<ObjectOf[K]>(
      { apiVersion: API_VERSION, kind },
      {
        limit: PAGE,
        ...(namespace !== undefined && { namespace }),
        ...(next !== undefined && { continue: next }),
      },
    );
    // Lists leave out what each item is.
    items.push(...page.items.map((item) => ({ apiVersion: API_VERSION, kind, ...item })));
    next = page.metadata.continue || undefined;
  } while (next !== undefined);
  return items;
}

/**
 * An object by name.
 *
 * @throws CliError that suggests near names when it is not there.
 */
export async function getObject<K extends Kind>(
  kube: KubeClient,
  kind: K,
  namespace: string,
  name: string,
  say: (command: string) => string,
): Promise<ObjectOf[K]> {
  const object = await kube.get<ObjectOf[K]>(keyFor(kind, namespace, name));
  if (object !== undefined) return object;
  throw await notFound(kube, [kind], { namespace, name, say });
}

/** The error for a name that no object of these kinds has, with what might have been meant. */
export async function notFound(
  kube: KubeClient,
  kinds: readonly Kind[],
  { namespace, name, say }: { namespace: string; name: string; say: (command: string) => string },
): Promise<CliError> {
  const words = kinds.map((kind) => KIND_WORDS[kind]).join(' or ');
  const message = `there is no ${words} "${name}" in namespace ${namespace}`;
  const lists = await Promise.all(kinds.map((kind) => listObjects(kube, kind, undefined)));
  const all = lists.flat();
  const here = all
    .filter(({ metadata }) => metadata.namespace === namespace)
    .map(({ metadata }) => metadata.name);
  const elsewhere = all
    .filter(({ metadata }) => metadata.name === name)
    .map(({ metadata }) => metadata.namespace);
  const near = nearNames(name, [...new Set(here)]);
  const hints: string[] = [];
  if (near.length > 0) hints.push(`did you mean ${near.map((other) => `"${other}"`).join(', ')}?`);
  if (elsewhere.length > 0) {
    hints.push(`there is one in namespace ${elsewhere.join(', ')}: pass -n ${elsewhere[0]}`);
  }
  if (hints.length === 0) {
    hints.push(
      here.length === 0
        ? `namespace ${namespace} has none at all; choose another one with -n NAMESPACE`
        : `see what is there: ${say(`get ${KIND_WORDS[kinds[0]!]}s`)}`,
    );
  }
  return new CliError(message, { hints });
}
