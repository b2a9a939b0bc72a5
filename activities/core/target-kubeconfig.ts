import { parse } from 'yaml';

/** A cluster and how to get into it, as a kubeconfig says it; PEM and tokens in clear. */
export interface TargetCluster {
  /** Name of the cluster in the kubeconfig. */
  name: string;
  /** https URL without a slash at its end. */
  server: URL;
  tls: { ca?: string; cert?: string; key?: string; servername?: string };
  token?: string;
}

/** The cluster, or what is wrong with the kubeconfig; never quotes a value that may be secret. */
export type TargetKubeconfig = { ok: true; cluster: TargetCluster } | { ok: false; problem: string };

/** A kubeconfig is a few KiB; authorities and certificates do not make it more than this. */
const MAX_CHARACTERS = 256 * 1024;

/** Fields that may stand in a cluster and in a user, and why those that are known elsewhere may not. */
const CLUSTER_FIELDS = new Set([
  'server',
  'certificate-authority-data',
  'tls-server-name',
  'disable-compression',
  'extensions',
]);
const USER_FIELDS = new Set(['token', 'client-certificate-data', 'client-key-data', 'extensions']);
const FILE = "names a file of the worker's machine; put the content itself into the kubeconfig";
const IMPERSONATION = 'acts as somebody else; give that account credentials of its own';
const REFUSED: Record<string, string> = {
  'certificate-authority': `${FILE}, as certificate-authority-data`,
  'client-certificate': `${FILE}, as client-certificate-data`,
  'client-key': `${FILE}, as client-key-data`,
  tokenFile: `${FILE}, as token`,
  'insecure-skip-tls-verify':
    'leaves the server unchecked, so that anyone on the way gets the credentials; set certificate-authority-data',
  'proxy-url': 'sends the credentials through a proxy; reach the API server directly',
  exec: 'runs a program on the worker; use a token or a client certificate',
  'auth-provider': 'needs a plugin; use a token or a client certificate',
  username: 'is no longer a way into Kubernetes; use a token or a client certificate',
  password: 'is no longer a way into Kubernetes; use a token or a client certificate',
  as: IMPERSONATION,
  'as-uid': IMPERSONATION,
  'as-groups': IMPERSONATION,
  'as-user-extra': IMPERSONATION,
};

/**
 * Reads the current context of a kubeconfig that comes from somebody else: inline data only, no field that would run a
 * program, read a file, use a proxy or impersonate (S3.54). What other contexts say is never used.
 */
export function readTargetKubeconfig(text: string): TargetKubeconfig {
  if (text.length > MAX_CHARACTERS)
    return bad(`has ${text.length} characters; allowed are ${MAX_CHARACTERS}`);
  let config: unknown;
  try {
    config = parse(text, { maxAliasCount: 0 }) as unknown;
  } catch {
    // The parser's own message quotes the text.
    return bad('is not valid YAML; put a whole kubeconfig file into the Secret');
  }
  if (!isRecord(config)) return bad('is no kubeconfig; put a whole kubeconfig file into the Secret');
  const current = config['current-context'];
  if (typeof current !== 'string' || current === '') {
    return bad('has no current-context; set it to the context to use');
  }
  const context = entry(config.contexts, current, 'context');
  if (context === undefined) return bad(`has no context ${quote(current)}, which is its current-context`);
  const name = context.cluster;
  const cluster = entry(config.clusters, name, 'cluster');
  if (typeof name !== 'string' || cluster === undefined) {
    return bad(`has no cluster ${quote(name)}, which context ${quote(current)} names`);
  }
  const user = entry(config.users, context.user, 'user');
  if (user === undefined)
    return bad(`has no user ${quote(context.user)}, which context ${quote(current)} names`);

  const refused =
    refuse(cluster, CLUSTER_FIELDS, `cluster ${quote(name)}`) ??
    refuse(user, USER_FIELDS, `user ${quote(context.user)}`);
  if (refused !== undefined) return bad(refused);

  const server = readServer(cluster.server);
  if (typeof server === 'string') return bad(`cluster ${quote(name)}: server ${server}`);
  const ca = pem(cluster['certificate-authority-data']);
  const cert = pem(user['client-certificate-data']);
  const key = pem(user['client-key-data']);
  for (const [field, value] of Object.entries({
    'certificate-authority-data': ca,
    'client-certificate-data': cert,
    'client-key-data': key,
  })) {
    if (value === null) return bad(`${field} is not the base64 of a PEM block`);
  }
  const { token } = user;
  if (token !== undefined && (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token.trim()))) {
    return bad(`user ${quote(context.user)}: token is not a bearer token`);
  }
  if ((cert === undefined) !== (key === undefined)) {
    return bad(`user ${quote(context.user)}: client-certificate-data and client-key-data go together`);
  }
  if (token === undefined && cert === undefined) {
    return bad(`user ${quote(context.user)} has no credentials; give it a token or a client certificate`);
  }
  const servername = cluster['tls-server-name'];
  return {
    ok: true,
    cluster: {
      name,
      server,
      tls: {
        ...(typeof ca === 'string' && { ca }),
        ...(typeof cert === 'string' && { cert }),
        ...(typeof key === 'string' && { key }),
        ...(typeof servername === 'string' && servername !== '' && { servername }),
      },
      ...(typeof token === 'string' && { token: token.trim() }),
    },
  };
}

const bad = (problem: string): TargetKubeconfig => ({ ok: false, problem });

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const quote = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, 200)) : '(none)';

/** The body of the entry of that name: `contexts`, `clusters` and `users` are lists of `{name, <kind>}`. */
function entry(list: unknown, name: unknown, kind: string): Record<string, unknown> | undefined {
  if (!Array.isArray(list) || typeof name !== 'string') return undefined;
  const found = (list as unknown[]).find((item) => isRecord(item) && item.name === name);
  const body = isRecord(found) ? found[kind] : undefined;
  return isRecord(body) ? body : undefined;
}

function refuse(
  body: Record<string, unknown>,
  allowed: ReadonlySet<string>,
  where: string,
): string | undefined {
  for (const [field, value] of Object.entries(body)) {
    // Tools write fields they do not use as empty ones.
    if (allowed.has(field) || value === null || value === '' || value === false) continue;
    const why = Object.hasOwn(REFUSED, field) ? REFUSED[field] : undefined;
    return `${where}: ${field} is not allowed${why === undefined ? '' : `: it ${why}`}; allowed are ${[...allowed].join(', ')}`;
  }
  return undefined;
}

function readServer(value: unknown): URL | string {
  if (typeof value !== 'string') return 'is missing; give the https address of the API server';
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return `${quote(value)} is not a URL`;
  }
  if (url.protocol !== 'https:')
    return `${quote(value)} is not https: the credentials could be read on the way`;
  if (url.username !== '' || url.password !== '') return 'carries a user name or a password; use a token';
  if (url.search !== '' || url.hash !== '') return `${quote(value)} has a query or a fragment`;
  return url;
}

/** The decoded PEM; undefined when there is none, null when it is none. */
function pem(value: unknown): string | undefined | null {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') return null;
  const text = Buffer.from(value, 'base64').toString('utf8');
  return text.includes('-----BEGIN ') ? text : null;
}
