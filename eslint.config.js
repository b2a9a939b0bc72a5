import js from '@eslint/js';
import { createNodeResolver, importX } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';
import { CORES, ROOMS, SEALS } from './house.js';

const zone = (target, allowed, from = '.') => ({
  target: `./${target}`,
  from,
  except: [target, ...allowed].map((path) => `./${path.slice(from === '.' ? 0 : from.length - 1)}`),
  message: `${target}/ may import only ${[`${target}/`, ...allowed].join(', ')}.`,
});

const roomZones = Object.entries(ROOMS).map(([room, allowed]) => zone(room, [...allowed, 'node_modules']));
const zones = [
  ...roomZones,
  ...Object.entries(CORES).map(([core, allowed]) =>
    zone(core, allowed, `./${core.slice(0, core.lastIndexOf('/'))}`),
  ),
];

/** What may run in Temporal's sandbox: no schemas, no YAML, no Node, no clients. */
const SANDBOX_API = [
  'core/(duration|graph|group|json|phase|sha256|trace-context)',
  'plan/(progress|types)',
  'plan/actions/(approval-answers|default-retry|step-input|traits)',
  'plan/order/(hooks|nesting)',
  'plan/snapshot/(parts|run|views)',
  'plan/undo/(lean-outputs|shared-views|trace|undo)',
];
const SANDBOX_IMPORTS = `^(?!\\.\\.?/([a-z]+/)?[a-z0-9-]+\\.js$|\\.\\./\\.\\./api/(${SANDBOX_API.join('|')})\\.js$|@temporalio/(workflow|common)$)`;

/** What a command line is parsed with. */
const PARSED_WITH =
  '^(commander|(.*/)?shared\\.js|.*/(output-format|pause-answers)\\.js|.*/api/plan/order/hooks\\.js)$';

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
      'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones }],
      'no-restricted-syntax': [
        'error',
        { selector: 'TSEnumDeclaration', message: 'Use an `as const` object or array and a union type.' },
        {
          selector: "CallExpression[callee.object.name='AbortSignal'][callee.property.name='any']",
          message: 'Node 20 may collect it before it fires: use withBoundedSignal or an AbortController.',
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
    files: ['api/plan/schema/**/*.ts'],
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'off' },
  },
  {
    // What is sealed and how it is verified is for those who hold keys.
    files: ['workflows/**/*.ts'],
    ignores: ['**/*.test.ts', ...SEALS],
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
    // Every start of the command line loads these: what a command does is loaded when it is asked for.
    files: ['client/cli/*/commands/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: `^(?!${PARSED_WITH.slice(1)})`,
              allowTypeImports: true,
              message: 'Import what a command does in its action, from work/: every start would load it.',
            },
          ],
        },
      ],
    },
  },
  {
    // What a core does may be shown with a system in it.
    files: ['**/*.test.ts'],
    rules: {
      'import-x/no-restricted-paths': ['error', { basePath: import.meta.dirname, zones: roomZones }],
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
