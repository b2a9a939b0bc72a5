import type { Parameter } from '../../../api/plan/types.js';
import { usageError } from '../core/cli-error.js';

/**
 * Parameters as `-p name=value` gives them. The value is everything after the first `=`, as text; it may be empty.
 *
 * @throws CliError for one without `=`, without a name, or given twice.
 */
export function parseParams(given: readonly string[]): Parameter[] {
  const seen = new Set<string>();
  return given.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) {
      throw usageError(
        `parameter "${text}" is not name=value`,
        'write it as -p name=value, for example -p site=b',
      );
    }
    const name = text.slice(0, at);
    if (seen.has(name))
      throw usageError(`parameter "${name}" is given twice`, 'keep one -p for each parameter');
    seen.add(name);
    return { name, value: text.slice(at + 1) };
  });
}
