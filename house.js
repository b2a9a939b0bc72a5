// The tables of the house: lint enforces them, `npm run house` draws what is there.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const list = (folder) => readdirSync(join(import.meta.dirname, folder), { withFileTypes: true });
const foldersIn = (room) =>
  list(room)
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${room}/${name}`);

/** What the programs of all systems, and of each, agree on: `contract.ts` and its parts `contract-….ts`. */
export const CONTRACTS = foldersIn('workflows').flatMap((folder) =>
  list(folder)
    .map(({ name }) => `${folder}/${name}`)
    .filter((path) => /\/contract(-[a-z]+)*\.ts$/.test(path)),
);
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
  // One process around an engine: the pure rules of its system, and nothing that could reach a cluster or Temporal.
  runner: ['api/terraform', 'api/core/json.ts', 'api/core/redact.ts', 'api/core/refusal.ts', 'runtime'],
  // What is kept of states and operations, without knowing what it means: the server's alone.
  store: ['runtime'],
  server: ['api', 'kube', 'runtime', 'store'],
  local: ['api/core', 'kube', 'runtime'],
  // An oracle that shares what it checks would have the same faults: of all this it uses the Kubernetes client alone.
  'local/clusternet': [
    'local',
    'runtime/package-root.ts',
    'kube/client.ts',
    'kube/error.ts',
    'kube/object.ts',
  ],
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
 * Inside a room: what every system shares may import nothing of any of them, and no system imports another.
 *
 * @type {Record<string, string[]>}
 */
export const CORES = {
  'api/core': [],
  'activities/core': [],
  'client/cli/core': [],
  'crd-bridge/core': ['crd-bridge/config.ts'],
  'crd-bridge/webhook': ['crd-bridge/core', 'crd-bridge/config.ts'],
  'workflows/core': [],
  // A system's workflows know what all share, and nothing of another system.
  ...Object.fromEntries(
    foldersIn('workflows')
      .filter((folder) => folder !== 'workflows/core')
      .map((folder) => [folder, ['workflows/core']]),
  ),
};

/** What workflow code may import of `api/`: what runs in Temporal's sandbox has no schemas, YAML, Node or clients. */
const SANDBOX_API = [
  'core/(duration|graph|group|json|phase|sha256|trace-context)',
  'plan/(progress|types)',
  'plan/actions/(approval-answers|default-retry|step-input|traits)',
  'plan/order/(hooks|nesting)',
  'plan/snapshot/(parts|run|views)',
  'plan/undo/(lean-outputs|shared-views|trace|undo)',
];

/**
 * What some files may import, beyond the tables of rooms: the words after `import … from` that they may use.
 *
 * @type {{ files: RegExp, except: string[], imports: RegExp, types: boolean, message: string }[]}
 */
export const IMPORTS = [
  {
    files: /^workflows\//,
    // What is sealed and how it is verified is for those who hold keys.
    except: SEALS,
    imports: new RegExp(
      `^(\\.\\.?/([a-z]+/)?[a-z0-9-]+\\.js|\\.\\./\\.\\./api/(${SANDBOX_API.join('|')})\\.js|@temporalio/(workflow|common))$`,
    ),
    types: true,
    message: 'Workflow code may import only what runs in the sandbox: see house.js.',
  },
  {
    // Every start of the command line loads these: what a command does is loaded when it is asked for.
    files: /^client\/cli\/[^/]+\/commands\//,
    except: [],
    imports:
      /^(commander|(.*\/)?shared\.js|.*\/(output-format|pause-answers)\.js|.*\/api\/plan\/order\/hooks\.js)$/,
    types: false,
    message: 'Import what a command does in its action, from work/: every start would load it.',
  },
];

const isIn = (path, folder) => path === folder || path.startsWith(`${folder}/`);

/**
 * The table that does not let a file import another, as the message to show; undefined when it may.
 *
 * @param {{ ROOMS: Record<string, string[]>, CORES: Record<string, string[]> }} tables
 * @param {string} from path from the root, as `kube/client.ts`
 * @param {string} to likewise
 * @returns {string | undefined}
 */
export function refusedImport({ ROOMS, CORES }, from, to) {
  const breaks = ([folder, allowed]) => ![folder, ...allowed].some((path) => isIn(to, path));
  const broken =
    Object.entries(ROOMS).find((entry) => isIn(from, entry[0]) && breaks(entry)) ??
    // What a core does may be shown with a system in it.
    (from.endsWith('.test.ts')
      ? undefined
      : Object.entries(CORES).find(
          (entry) =>
            isIn(from, entry[0]) && isIn(to, entry[0].slice(0, entry[0].lastIndexOf('/'))) && breaks(entry),
        ));
  if (broken === undefined) return undefined;
  const [folder, allowed] = broken;
  return `${folder}/ may import only ${[`${folder}/`, ...allowed].join(', ')}.`;
}
