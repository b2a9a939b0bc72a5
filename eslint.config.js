import js from '@eslint/js';
import { createNodeResolver, importX } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/** Every top-level folder is a room; these are the only imports between rooms. */
const ROOMS = {
  api: [],
  // The keys of seals lie in a Secret and, for the embedded default, in a file.
  kube: ['api/core/seal.ts'],
  local: ['api/core/seal.ts'],
  workflows: ['api'],
  activities: ['api', 'kube', 'workflows/plan/contract.ts', 'workflows/plan/sealed.ts'],
  // What the programs share that is no Kubernetes: logging, probes, encryption.
  runtime: [],
  worker: ['api', 'kube', 'runtime', 'workflows', 'activities'],
  // The command line brings up the embedded default too, and tries plans by the code that carries them out.
  client: [
    'api',
    'kube',
    'runtime',
    'local',
    'workflows/plan/contract.ts',
    'activities/preflight/preflight.ts',
    'activities/core/egress.ts',
  ],
  'crd-bridge': [
    'api',
    'kube',
    'runtime',
    'client',
    'workflows/plan/contract.ts',
    'workflows/plan/sealed.ts',
    'workflows/plan/run-digest.ts',
  ],
};

const zones = Object.entries(ROOMS).map(([room, allowed]) => ({
  target: `./${room}`,
  from: '.',
  except: [`./${room}`, './node_modules', ...allowed.map((path) => `./${path}`)],
  message: `${room}/ may import only ${[`${room}/`, ...allowed].join(', ')}.`,
}));

/** What may run in Temporal's sandbox: no schemas, no YAML, no Node, no clients. */
const SANDBOX_IMPORTS =
  '^(?!\\./[a-z0-9/-]+\\.js$|\\.\\./contract\\.js$|\\.\\./api/(approval|types|run|group|phase|graph|hooks|undo|duration|progress|nesting|json|sha256|views|shared-views|parts|lean-outputs|default-retry)\\.js$|@temporalio/(workflow|common)$)';

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.drover/', 'coverage/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    settings: {
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
      'import-x/resolver-next': [
        createNodeResolver({ extensions: ['.ts', '.js'], extensionAlias: { '.js': ['.ts', '.js'] } }),
      ],
    },
    rules: {
      eqeqeq: 'error',
      'no-console': 'error',
      'import-x/no-cycle': 'error',
      'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones }],
      'no-restricted-syntax': [
        'error',
        { selector: 'TSEnumDeclaration', message: 'Use an `as const` object or array and a union type.' },
        {
          selector: "CallExpression[callee.object.name='AbortSignal'][callee.property.name='any']",
          message: 'Node 20 may collect it before it fires: use boundedSignal or an AbortController.',
        },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: false },
      ],
      // Numbers and booleans read well in messages.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
    },
  },
  {
    // The inferred schema types are the point of these files.
    files: ['api/schema/**/*.ts'],
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },
  {
    // What is sealed and how it is verified is for those who hold keys.
    files: ['workflows/**/*.ts'],
    ignores: ['**/*.test.ts', 'workflows/plan/sealed.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: SANDBOX_IMPORTS,
              message: 'Workflow code may import only what runs in the sandbox: see eslint.config.js.',
            },
          ],
        },
      ],
    },
  },
  {
    // Matchers such as expect.any() are typed any by design; helpers of tests need no annotated boundary.
    files: ['test/**/*.ts', '**/*.test.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
    },
  },
  {
    files: ['client/**/*.ts', 'scripts/**/*.ts', 'examples/**/*.ts', 'bench/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['**/*.js'],
    languageOptions: {
      globals: {
        Buffer: 'readonly',
        clearTimeout: 'readonly',
        console: 'readonly',
        fetch: 'readonly',
        process: 'readonly',
        setTimeout: 'readonly',
        URL: 'readonly',
      },
    },
  },
);
