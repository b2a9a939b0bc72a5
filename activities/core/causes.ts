/**
 * An error and its causes, outermost first. What identifies an error, its class or its code, may be in any of them:
 * network clients wrap the errors they get, and give them codes of their own.
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
