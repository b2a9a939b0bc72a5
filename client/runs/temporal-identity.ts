import type { Connection } from '@temporalio/client';
import { isRefusedByTemporal } from '../../runtime/refused-by-temporal.js';

/** What tells one Temporal from another. Either id may be unknown, and then says nothing. */
export interface TemporalIdentity {
  clusterId?: string | undefined;
  namespaceId?: string | undefined;
}

/**
 * Asks the server that answers now which Temporal it is. The address alone does not say: a server may be set up anew
 * behind it. A server may keep its cluster id to itself; then the namespace's id has to do.
 *
 * @throws the client library's error when the server does not answer or does not know the namespace
 */
export async function readTemporalIdentity(
  service: Pick<Connection['workflowService'], 'describeNamespace' | 'getClusterInfo'>,
  namespace: string,
): Promise<TemporalIdentity & { namespaceId: string }> {
  const clusterInfo = service.getClusterInfo({}).catch((error: unknown) => {
    if (isRefusedByTemporal(error)) return undefined;
    throw error;
  });
  const [described, cluster] = await Promise.all([service.describeNamespace({ namespace }), clusterInfo]);
  return {
    namespaceId: described.namespaceInfo?.id ?? '',
    ...(cluster !== undefined && cluster.clusterId !== '' && { clusterId: cluster.clusterId }),
  };
}
