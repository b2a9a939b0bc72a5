import { isObject } from '../../../api/core/json.js';
import type { Refusal } from '../../../api/core/refusal.js';
import { judgeOverride, needsTarget } from '../../../api/plan/actions/override-effect.js';
import type { OverrideFault, OverrideObject } from '../../../api/plan/actions/override-effect.js';
import { KubeError } from '../../../kube/error.js';
import { readOverrideSources } from '../../../kube/override-sources.js';
import type { Attempt } from '../../core/handler.js';

/** What was found: a reason not to write the object, or doubts to report. */
export type OverrideEffect = { ok: true; notes: string[] } | ({ ok: false } & Refusal);

/**
 * Judges overrides against the Manifest of their feed, with what others change in it before, and against others of the
 * same kind and priority.
 */
export async function judgeOverrides(
  object: OverrideObject,
  { kube, signal }: Pick<Attempt, 'kube' | 'signal'>,
): Promise<OverrideEffect> {
  const { kind, namespace, spec } = object;
  const feed = isObject(spec.feed) ? spec.feed : undefined;
  if (feed === undefined || feed.kind === 'HelmChart') return { ok: true, notes: [] };
  try {
    const query = { kind, namespace, feed, target: needsTarget(spec) };
    const sources = await readOverrideSources(kube, query, { signal });
    const { notes, fault, doubts } = judgeOverride(object, sources);
    const where = sources.target?.name ?? '';
    if (fault !== undefined) {
      const message = `${told(fault)}; it is judged by ${where}: correct the path, or use op add`;
      return { ok: false, reason: 'InvalidOverride', message };
    }
    return {
      ok: true,
      notes: [...notes, ...doubts.map((doubt) => `${told(doubt)} ${where}: use op add to be sure`)],
    };
  } catch (error) {
    if (signal.aborted || !(error instanceof KubeError)) throw error;
    // An account that may write Localizations need not be allowed to read all this.
    return {
      ok: true,
      notes: [`whether its overrides have an effect could not be checked: ${error.message}`],
    };
  }
}

const told = ({ override, name, operation, message }: OverrideFault): string =>
  `overrides[${override}]${name === '' ? '' : ` "${name}"`}: operation ${operation + 1} ${message}`;
