import { readFile } from 'node:fs/promises';

const POD_NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';
const DEFAULT_NAMESPACE = 'drover-system';

/**
 * The namespace of the installation: the one that was configured, else that of this program's pod, else `drover-system`.
 */
export async function ownNamespace(configured: string | undefined): Promise<string> {
  if (configured !== undefined) return configured;
  const text = (await readFile(POD_NAMESPACE_FILE, 'utf8').catch(() => '')).trim();
  return text === '' ? DEFAULT_NAMESPACE : text;
}
