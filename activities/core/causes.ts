/**
 * An error and its causes, outermost first. What tells an error apart, its class or its code, may stand in any of them:
 * clients of the network wrap what they were given, and put codes of their own over it.
 */
export function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let link = error; link !== undefined && !chain.includes(link); link = causeOf(link)) chain.push(link);
  return chain;
}

function causeOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  return error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
}

/** The code of one error, such as `ECONNRESET`; not of its causes. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
