/** The innermost message of an error that came over Temporal, which wraps what an activity or a child says. */
export function innermost(error: Error): string {
  return error.cause instanceof Error ? innermost(error.cause) : error.message;
}
