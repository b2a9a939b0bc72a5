/** Something found wrong, or doubtful, in an object. */
export interface Problem {
  severity: 'error' | 'warning';
  /** Where, as a field path: `spec.stages[2].workflows[0].params[1].value`. */
  path: string;
  /** Stable CamelCase reason, the same one that conditions and events carry. */
  reason: string;
  /** What is wrong, what was found and what is allowed, for a person. */
  message: string;
}

/** Problems that make an object unusable. */
export const errorsOf = (problems: readonly Problem[]): Problem[] =>
  problems.filter((problem) => problem.severity === 'error');

/** All problems in one line each, `path: message`, for conditions and terminals. */
export const describeProblems = (problems: readonly Problem[]): string =>
  problems
    .map((problem) => (problem.path === '' ? problem.message : `${problem.path}: ${problem.message}`))
    .join('; ');

/** Problems without repetitions: the same list is often read in several uses. */
export function dedupeProblems(problems: readonly Problem[]): Problem[] {
  const seen = new Set<string>();
  return problems.filter((problem) => {
    const key = `${problem.severity}\n${problem.path}\n${problem.message}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
