// The tables of the house: lint enforces them, `npm run house` draws what is there.

/** What the programs of a system agree on with its workflows. */
export const CONTRACTS = [
  'workflows/core/contract.ts',
  'workflows/core/entity-contract.ts',
  'workflows/plan/contract.ts',
];
/** What is sealed and how it is verified is for those who hold keys. */
export const SEALS = ['workflows/core/sealed-entity.ts', 'workflows/plan/sealed.ts'];

/**
 * Every top-level folder is a room; these are the only imports between rooms.
 *
 * @type {Record<string, string[]>}
 */
export const ROOMS = {
  api: [],
  kube: ['api/core'],
  // What the programs share that is no Kubernetes: logging, probes, encryption.
  runtime: [],
  local: ['api/core'],
  workflows: ['api'],
  activities: ['api', 'kube', ...CONTRACTS, ...SEALS],
  worker: ['api', 'kube', 'runtime', 'workflows', 'activities'],
  'client/runs': ['api', 'kube', 'runtime', ...CONTRACTS],
  // The command line brings up the embedded default too, and tries plans by the code that carries them out.
  'client/cli': [
    'api',
    'kube',
    'runtime',
    'local',
    'client/runs',
    'activities/preflight',
    'activities/core/egress.ts',
    ...CONTRACTS,
  ],
  'crd-bridge': [
    'api',
    'kube',
    'runtime',
    'client/runs',
    ...CONTRACTS,
    ...SEALS,
    'workflows/plan/run-digest.ts',
  ],
};

/**
 * Inside a room: what every system shares may import nothing of any of them.
 *
 * @type {Record<string, string[]>}
 */
export const CORES = {
  'api/core': [],
  'activities/core': [],
  'client/cli/core': [],
  'crd-bridge/core': ['crd-bridge/config.ts'],
  'crd-bridge/webhook': ['crd-bridge/core', 'crd-bridge/config.ts'],
};
