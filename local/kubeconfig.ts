/** What a kubeconfig with a client certificate holds. */
export interface KubeconfigOptions {
  /** Name of the context, the cluster and (with the user's name) the user. */
  name: string;
  /** `https://127.0.0.1:PORT`. */
  server: string;
  /** The certificate authority of the server, PEM. */
  ca: string;
  user: string;
  /** The user's client certificate and key, PEM. */
  cert: string;
  key: string;
}

/** The text of a kubeconfig file (JSON, which is YAML too) with everything inline, so that it can be copied. */
export function kubeconfig(options: KubeconfigOptions): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': options.name,
    contexts: [{ name: options.name, context: { cluster: options.name, user: options.user } }],
    clusters: [
      {
        name: options.name,
        cluster: { server: options.server, 'certificate-authority-data': base64(options.ca) },
      },
    ],
    users: [
      {
        name: options.user,
        user: {
          'client-certificate-data': base64(options.cert),
          'client-key-data': base64(options.key),
        },
      },
    ],
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

/** Reads back what {@link kubeconfig} wrote. @throws Error when it is something else. */
export function parseKubeconfig(text: string): { server: string; ca: string; cert: string; key: string } {
  const config = JSON.parse(text) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  const cluster = config.clusters[0]?.cluster;
  const user = config.users[0]?.user;
  const decode = (value: string | undefined): string => Buffer.from(value ?? '', 'base64').toString('utf8');
  if (cluster?.['server'] === undefined || user === undefined) throw new Error('not a kubeconfig of our own');
  return {
    server: cluster['server'],
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  };
}
