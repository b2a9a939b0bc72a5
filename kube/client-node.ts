/**
 * What Drover uses of the official client: credentials in every form that a kubeconfig knows. Whoever loads it on demand
 * loads this module, so that a bundled program holds this part of the client alone.
 */
export { HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
