import { definitionGaps, lacksOfStatus } from '../../api/core/definition-gap.js';
import type { DefinitionGap } from '../../api/core/definition-gap.js';
import type { KindDescriptor } from '../../api/core/kind-descriptor.js';
import type { KubeClient } from '../../kube/client.js';
import { createOpenApi } from '../../kube/openapi.js';
import type { Log } from './log.js';

/** Fields that a message names. */
const MAX_NAMED = 3;

/** What makes definitions those of this release. */
const APPLY =
  'apply those of this release: kubectl apply --server-side --force-conflicts -f deploy/crds (Helm does it, unless crds.install is false)';

/**
 * Looks whether the cluster's definitions have all that this bridge writes: the API server drops the rest without a word,
 * and a revert would not know what it has to undo. What only people would write is told in the log, and so are newer
 * definitions.
 *
 * @returns finds why nothing may begin; undefined where nothing is lacking, or where definitions cannot be read
 */
export function definitionsLook(parts: {
  kube: Pick<KubeClient, 'raw'>;
  kinds: readonly KindDescriptor[];
  log: Log;
}): () => Promise<string | undefined> {
  const { kube, kinds, log } = parts;
  const versionOf = ({ group, version }: KindDescriptor): string => `${group}/${version}`;
  const openApi = createOpenApi(kube, (schemas, apiVersion) =>
    definitionGaps(
      kinds.filter((kind) => versionOf(kind) === apiVersion),
      schemas,
    ),
  );
  let told = '';
  const tell = (level: 'info' | 'warn', message: string): void => {
    if (message !== told) log[level]({}, message);
    told = message;
  };

  return async () => {
    let gaps: DefinitionGap[];
    try {
      const read = await Promise.all([...new Set(kinds.map(versionOf))].map((one) => openApi.of(one)));
      gaps = read.flatMap((found) => found ?? []);
    } catch (error) {
      tell(
        'warn',
        `cannot tell whether the definitions are those of this release: ${error instanceof Error ? error.message : String(error)}`,
      );
      return undefined;
    }
    const lost = named(gaps, lacksOfStatus);
    if (lost !== '')
      return `the definitions in the cluster are older than this bridge, and what it writes would be lost: ${lost}; ${APPLY}, then executions begin by themselves`;
    const lacking = named(gaps, ({ lacks }) => lacks);
    if (lacking !== '')
      tell(
        'warn',
        `the definitions in the cluster are older than this bridge, and what people write there is dropped: ${lacking}; ${APPLY}`,
      );
    else if (gaps.some(({ state }) => state === 'newer'))
      tell('info', 'the definitions in the cluster are newer than this bridge, which does no harm');
    return undefined;
  };
}

/** Kinds with some of the paths that they lack; empty where none lacks any. */
function named(gaps: readonly DefinitionGap[], pathsOf: (gap: DefinitionGap) => readonly string[]): string {
  return gaps
    .flatMap((gap) => {
      const paths = pathsOf(gap);
      if (paths.length === 0) return [];
      const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
      return [`${gap.kind} lacks ${paths.slice(0, MAX_NAMED).join(', ')}${more}`];
    })
    .join('; ');
}
