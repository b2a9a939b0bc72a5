/**
 * Makes a release in `dist/release/<version>`:
 *
 *     npm run release:dry                            everything, signed with a key that nobody keeps
 *     npm run release:dry -- --to DIR --only linux-amd64
 *     npm run release -- --tag v1.2.3 --url https://…/download/v1.2.3 --homepage https://…
 *
 * What has to be true of a tree that is released is looked at first: a dry run tells it and goes on, a release ends with 1.
 * DROVER_RELEASE_KEY holds the key that signs, as PEM.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../runtime/package-root.js';
import { buildRelease } from './release/build.js';
import { TARGETS } from './release/command-line.js';
import { openSigningKey, throwawayKey } from './release/minisign.js';
import { problemsOf } from './release/state.js';
import { readCommit, readTree } from './release/tree.js';

/** Stands in the krew manifest of a dry run. */
const NOWHERE = 'https://drover.invalid';
const USAGE_ERROR = 2;

const { values } = parseArgs({
  options: {
    dry: { type: 'boolean', default: false },
    tag: { type: 'string' },
    url: { type: 'string' },
    homepage: { type: 'string' },
    to: { type: 'string' },
    only: { type: 'string', multiple: true },
  },
});
const { dry, tag } = values;

function refuse(message: string, code: number): never {
  console.error(`error: ${message}`);
  process.exit(code);
}

const unknown = (values.only ?? []).find((name) => TARGETS.every((target) => target.name !== name));
if (unknown !== undefined)
  refuse(`--only ${unknown}: it is none of ${TARGETS.map(({ name }) => name).join(', ')}`, USAGE_ERROR);
if (!dry && (tag === undefined || values.url === undefined || values.homepage === undefined))
  refuse('a release needs --tag, --url and --homepage; "npm run release:dry" needs none', USAGE_ERROR);
const pem = process.env.DROVER_RELEASE_KEY;
if (!dry && !pem) refuse('a release needs the key that signs, in DROVER_RELEASE_KEY', USAGE_ERROR);

const root = packageRoot();
const tree = await readTree(root, tag);
const problems = problemsOf(tree);
for (const problem of problems) console.error(`${dry ? 'before a release' : 'error'}: ${problem}`);
if (!dry && problems.length > 0) process.exit(1);

const { version } = tree;
const folder = values.to ?? join(root, 'dist', 'release', version);
const files = await buildRelease(folder, {
  root,
  version,
  ...(await readCommit(root)),
  url: values.url ?? `${NOWHERE}/v${version}`,
  homepage: values.homepage ?? NOWHERE,
  key: pem ? openSigningKey(pem) : throwawayKey(),
  targets: TARGETS.filter(({ name }) => values.only?.includes(name) ?? true),
  say: (step) => {
    console.error(`${step} …`);
  },
});
for (const { name, bytes } of files) console.log(`${(bytes / 2 ** 20).toFixed(2).padStart(8)} MiB  ${name}`);
console.log(folder);
