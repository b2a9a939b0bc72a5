/** What can be set on drover-server. */
import { editDistance } from '../api/core/near.js';
import { TOKEN_PURPOSES, type TokenBearer } from '../runtime/server-tokens.js';
import { group, optional, setting } from '../runtime/options/option.js';
import type { OptionValues, Program } from '../runtime/options/option.js';
import { INSTALLATION, probes } from '../runtime/options/shared.js';
import { count, host, path, port, text, valueType } from '../runtime/options/types.js';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

const bearer = valueType<TokenBearer>('who', 'bridge, worker, or pool/NAME', (value) => {
  const [word, id = '', ...more] = value.split('/');
  const purpose = TOKEN_PURPOSES.find((each) => each === word && each !== 'operation');
  const isRight = purpose !== undefined && more.length === 0 && (purpose === 'pool') === (id !== '');
  return isRight ? { purpose, id } : undefined;
});

const STORE = group('Store', {
  'store-dir': optional(path, {
    means: 'folder of the store, for one server',
    see: 'server.md#where-the-store-is',
  }),
  'store-url': optional(
    { ...text, placeholder: 'url' },
    {
      means:
        'database of the store, such as postgres://user:password@host/drover?sslmode=verify-full; set it by its variable, since command lines can be read by others',
      see: 'server.md#where-the-store-is',
    },
  ),
  'store-connections': setting(count({ max: 200 }), '10', { means: 'connections to the database at once' }),
  'store-keys': optional(path, {
    means:
      'folder of the keys that the store is encrypted with, and tokens are made with; without them all of it is lost',
    see: 'server.md#keys',
  }),
});

const LISTENER = group('Listener', {
  host: setting(host, '127.0.0.1', {
    means: 'address that is served; others than loopback need a certificate',
  }),
  port: setting(port, '8444', { means: 'port that is served' }),
  'tls-cert': optional(path, { means: 'file of the certificate; read again every minute' }),
  'tls-key': optional(path, { means: 'file of its key' }),
  'token-for': optional(bearer, {
    means: 'print a token for bridge, worker or a pool, and end',
    see: 'server.md#tokens',
  }),
});

const OPTIONS = {
  ...group('Installation', { kubeconfig: INSTALLATION.kubeconfig }),
  ...STORE,
  ...LISTENER,
  ...probes('none'),
};

/** What the server was told, by name of the option. */
export type ServerConfig = OptionValues<typeof OPTIONS>;

/** The server. */
export const SERVER: Program<typeof OPTIONS> = {
  name: 'drover-server',
  summary:
    'Keeps states, plans and records of Terraform runs, and serves them to runners, workers and engines.',
  options: OPTIONS,
  check: (config) => [
    ...(config['store-keys'] === undefined ? ['--store-keys (or DROVER_STORE_KEYS) is needed'] : []),
    ...((config['store-dir'] === undefined) === (config['store-url'] === undefined) &&
    config['token-for'] === undefined
      ? ['either --store-dir or --store-url (or their variables) is needed']
      : []),
    ...((config['tls-cert'] === undefined) === (config['tls-key'] === undefined)
      ? []
      : ['--tls-cert and --tls-key are given together or not at all']),
    ...(config['tls-cert'] !== undefined || LOOPBACK.test(config.host)
      ? []
      : [`--host ${config.host} is not loopback: it needs --tls-cert and --tls-key, as tokens pass`]),
  ],
  editDistance,
};
