import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Where everything of one embedded default lives on disk. */
export interface DataPaths {
  root: string;
  kubeconfig: string;
  endpoints: string;
  state: string;
  lock: string;
  logs: string;
  data: string;
  etcd: string;
  /** etcd's data of an ephemeral `up`, apart from the durable data so that throwing it away cannot hurt that. */
  etcdEphemeral: string;
  pki: string;
  /** The keys with which bridge and worker seal what they vouch for (mode 0600). */
  sealRing: string;
  temporalDb: string;
}

/** The files and folders inside a data dir (see {@link DataPaths}); creates nothing. */
export function dataPaths(dataDir: string): DataPaths {
  const root = resolve(dataDir);
  const data = join(root, 'data');
  return {
    root,
    kubeconfig: join(root, 'kubeconfig'),
    endpoints: join(root, 'endpoints.json'),
    state: join(root, 'state.json'),
    lock: join(root, 'up.lock'),
    logs: join(root, 'logs'),
    data,
    etcd: join(data, 'etcd'),
    etcdEphemeral: join(data, 'etcd-ephemeral'),
    pki: join(data, 'pki'),
    sealRing: join(data, 'seal-ring.json'),
    temporalDb: join(data, 'temporal.db'),
  };
}

/** The folder that holds downloaded and built programs: `$XDG_CACHE_HOME/drover`, else `~/.cache/drover`. */
export function cacheDir(env: NodeJS.ProcessEnv = process.env): string {
  const base = env['XDG_CACHE_HOME'];
  return join(base !== undefined && base.startsWith('/') ? base : join(homedir(), '.cache'), 'drover');
}
