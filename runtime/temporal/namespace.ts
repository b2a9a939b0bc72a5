import { isGrpcServiceError } from '@temporalio/client';

const NOT_FOUND = 5;
const UNAUTHENTICATED = 16;

/**
 * What it means that a namespace could not be described, for people.
 *
 * @returns undefined where it does not show that nothing can be done there: whoever may work in a namespace need not be
 * allowed to describe it
 */
export function namespaceTrouble(
  error: unknown,
  { address, namespace }: { address: string; namespace: string },
): string | undefined {
  if (!isGrpcServiceError(error)) return undefined;
  switch (Number(error.code)) {
    case NOT_FOUND:
      return `Temporal at ${address} has no namespace "${namespace}": create it ("temporal operator namespace create --namespace ${namespace}"), or set TEMPORAL_NAMESPACE to one that it has`;
    case UNAUTHENTICATED:
      return `Temporal at ${address} does not know who asks (${error.details}): set TEMPORAL_API_KEY, or a client certificate, that is good for namespace "${namespace}"`;
    default:
      return undefined;
  }
}
