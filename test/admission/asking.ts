/** Requests to the API server whose warnings matter. */
import { request } from 'undici';
import { GROUP, VERSION } from '../../api/core/group.js';
import { drKind } from '../../api/plan/kinds.js';
import type { DrKind } from '../../api/plan/kind-names.js';
import { loadKubeConfig } from '../../kube/config.js';
import { endpointOf } from '../../kube/kubeconfig-client.js';
import { servers } from '../support/servers.js';

export interface Asked {
  status: number;
  message: string;
  warnings: string[];
  causes: { field?: string; reason?: string }[];
}

/** Creates an object, or updates it when it has a resourceVersion; gives the API server's answer. */
export async function ask(
  namespace: string,
  kind: DrKind,
  name: string,
  spec: unknown,
  options: { metadata?: object; dryRun?: boolean } = {},
): Promise<Asked> {
  const endpoint = endpointOf(loadKubeConfig({ file: servers.kubeconfig }));
  const { headers, dispatcher } = await endpoint.authenticate(false);
  const isUpdate = options.metadata !== undefined && 'resourceVersion' in options.metadata;
  const { plural, scope } = drKind(kind);
  const within = scope === 'Namespaced' ? { namespace } : {};
  const path = `/apis/${GROUP}/${VERSION}/${scope === 'Namespaced' ? `namespaces/${namespace}/` : ''}${plural}`;
  const url = `${endpoint.server}${path}${isUpdate ? `/${name}` : ''}${options.dryRun === true ? '?dryRun=All' : ''}`;
  const response = await request(url, {
    method: isUpdate ? 'PUT' : 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      apiVersion: `${GROUP}/${VERSION}`,
      kind,
      metadata: { ...options.metadata, name, ...within },
      spec,
    }),
    ...(dispatcher !== undefined && { dispatcher }),
  });
  const body = (await response.body.json()) as { message?: string; details?: { causes?: Asked['causes'] } };
  const { warning = [] } = response.headers;
  return {
    status: response.statusCode,
    message: body.message ?? '',
    causes: body.details?.causes ?? [],
    warnings: [warning].flat().map((text) => text.replace(/^299 - "|"$/g, '').replaceAll('\\"', '"')),
  };
}
