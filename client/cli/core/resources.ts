import { API_VERSION } from '../../../api/core/group.js';
import { isCalled } from '../../../api/core/kind-descriptor.js';
import { DR_KIND_NAMES, type DrKind } from '../../../api/plan/kind-names.js';
import type { DRPolicy } from '../../../api/plan/schema/policy.js';
import type { DRPlan, DRPlanExecution, DRWorkflow } from '../../../api/plan/types.js';
import type { KubeClient } from '../../../kube/client.js';
import type { ObjectKey } from '../../../kube/object.js';
import { CliError } from './cli-error.js';
import { listAll } from './list-all.js';
import { nearNames } from '../../../api/core/near.js';

/** Types of the kinds, by name. */
export interface ObjectOf {
  DRPlan: DRPlan;
  DRPlanExecution: DRPlanExecution;
  DRWorkflow: DRWorkflow;
  DRPolicy: DRPolicy;
}

/** A kind of ours. */
export type Kind = DrKind;

/** All of them. */
export const KINDS: readonly Kind[] = Object.values(DR_KIND_NAMES).map(({ kind }) => kind);

/** Whether the command line has commands of its own for a kind. */
export const isOwnKind = (kind: string): kind is Kind => (KINDS as readonly string[]).includes(kind);

/** What a person calls one of a kind, and several. */
export const wordOf = (kind: Kind): string => DR_KIND_NAMES[kind].word;
export const wordsOf = (kind: Kind): string => DR_KIND_NAMES[kind].words;

/** The kind that a word of the command line means. */
export function kindOf(word: string): Kind | undefined {
  // Short for the one that is typed most.
  if (word.toLowerCase() === 'exec') return 'DRPlanExecution';
  return Object.values(DR_KIND_NAMES).find((kind) => isCalled(kind, word))?.kind;
}

/** Whether objects of a kind are in namespaces. */
export const isNamespaced = (kind: Kind): boolean => DR_KIND_NAMES[kind].scope === 'Namespaced';

/** Key of an object of ours; the namespace counts where the kind has them. */
export const keyFor = (kind: Kind, namespace: string, name: string): ObjectKey => ({
  apiVersion: API_VERSION,
  kind,
  ...(isNamespaced(kind) && { namespace }),
  name,
});

/** All objects of a kind, in a namespace or (undefined) in all. */
export const listObjects = <K extends Kind>(
  kube: KubeClient,
  kind: K,
  namespace: string | undefined,
): Promise<ObjectOf[K][]> =>
  listAll<ObjectOf[K]>(kube, { apiVersion: API_VERSION, kind }, isNamespaced(kind) ? namespace : undefined);

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
  const words = kinds.map(wordOf).join(' or ');
  const message = `there is no ${words} "${name}"${kinds.some(isNamespaced) ? ` in namespace ${namespace}` : ''}`;
  const lists = await Promise.all(kinds.map((kind) => listObjects(kube, kind, undefined)));
  const all = lists.flat();
  const here = all
    .filter(({ metadata }) => metadata.namespace === undefined || metadata.namespace === namespace)
    .map(({ metadata }) => metadata.name);
  const elsewhere = all
    .filter(({ metadata }) => metadata.name === name)
    .flatMap(({ metadata }) => metadata.namespace ?? []);
  const near = nearNames(name, [...new Set(here)]);
  const hints: string[] = [];
  if (near.length > 0) hints.push(`did you mean ${near.map((other) => `"${other}"`).join(', ')}?`);
  if (elsewhere.length > 0) {
    hints.push(`there is one in namespace ${elsewhere.join(', ')}: pass -n ${elsewhere[0]}`);
  }
  if (hints.length === 0) {
    hints.push(
      here.length === 0
        ? kinds.some(isNamespaced)
          ? `namespace ${namespace} has none at all; choose another one with -n NAMESPACE`
          : 'there is none at all'
        : `see what is there: ${say(`get ${wordsOf(kinds[0]!)}`)}`,
    );
  }
  return new CliError(message, { hints });
}
