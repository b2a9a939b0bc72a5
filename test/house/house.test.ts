/**
 * The measure of the house: a new kind of run, a new entity and a new action type are new files in their folders and one
 * entry in each of the lists. A copy of the house gets all three, is built, brought up, and runs them.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createKubeClient } from '../../kube/kubeconfig-client.js';
import type { KubeClient } from '../../kube/client.js';
import { loadKubeConfig } from '../../kube/config.js';
import type { KubeObject } from '../../kube/object.js';
import { poll } from '../support/stack.js';

const exec = promisify(execFile);
const TOY = 'test/house/toy';

/** The lists, and the lines that go into them: an import where there is none to widen, and an entry. */
const ENTRIES: Record<string, [after: string, line: string][]> = {
  'api/kinds.ts': [
    ["import { DR_KINDS } from './plan/kinds.js';", "import { TOY_KINDS } from './toy/kinds.js';"],
    ['  ...DR_KINDS,', '  ...TOY_KINDS,'],
  ],
  'workflows/index.ts': [
    ["export { drStageRollback } from './plan/stage-rollback.js';", "export * from './toy/index.js';"],
  ],
  'activities/index.ts': [
    [
      "import { createEntityActivities } from './core/entities.js';",
      "import { createToyActivities } from './toy/fetch-thing.js';",
    ],
    ['  ...createActionActivities(deps),', '  ...createToyActivities(),'],
  ],
  'crd-bridge/kinds.ts': [
    ["import { planRows } from './plan/rows.js';", "import { toyRows } from './toy/rows.js';"],
    ['  ...planRows(services),', '  ...toyRows(services),'],
  ],
  'api/plan/actions/table.ts': [
    ["import type { ActionDescriptor } from './descriptor.js';", "import { echo } from './echo.js';"],
    ['  Plan: plan,', '  Echo: echo,'],
  ],
  'activities/actions/index.ts': [
    ["import { createHttpHandler } from './http/http.js';", "import { echoHandler } from './echo/echo.js';"],
    [
      '  Notify: ({ egress, traceRequest }) => createNotifyHandler(egress, traceRequest),',
      '  Echo: () => echoHandler,',
    ],
  ],
};

let house: string;
let kube: KubeClient;
const inHouse = (command: string, ...args: string[]) =>
  exec(command, args, {
    cwd: house,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, NO_COLOR: '1' },
  }).catch((error: Error & { stdout?: string }) => {
    throw new Error(`${error.message}\n${error.stdout ?? ''}`);
  });
const compile = (...args: string[]) => inHouse(process.execPath, 'node_modules/typescript/bin/tsc', ...args);
const drover = (...args: string[]) => inHouse(process.execPath, 'bin/drover.js', ...args);

/** What is tracked, and what is new and not ignored: the house as it stands. */
async function copyHouse(to: string): Promise<void> {
  const { stdout } = await exec('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    maxBuffer: 64 * 1024 * 1024,
  });
  for (const file of stdout.split('\0').filter((name) => name !== '' && !name.startsWith('test/house/'))) {
    await mkdir(dirname(join(to, file)), { recursive: true });
    await cp(file, join(to, file)).catch((error: NodeJS.ErrnoException) => {
      // Deleted and not yet committed.
      if (error.code !== 'ENOENT') throw error;
    });
  }
  await mkdir(join(to, 'node_modules'));
  for (const name of (await readdir('node_modules')).filter((one) => one !== '.cache'))
    await symlink(join(process.cwd(), 'node_modules', name), join(to, 'node_modules', name));
  await cp('dist', join(to, 'dist'), { recursive: true });
}

async function moveIn(to: string): Promise<void> {
  const found = await readdir(TOY, { recursive: true, withFileTypes: true });
  for (const entry of found.filter((one) => one.isFile())) {
    const file = join(entry.parentPath, entry.name);
    const place = join(to, relative(TOY, file).replace(/\.txt$/, ''));
    await mkdir(dirname(place), { recursive: true });
    await cp(file, place, { errorOnExist: true, force: false });
  }
  for (const [list, lines] of Object.entries(ENTRIES)) {
    let text = await readFile(join(to, list), 'utf8');
    for (const [after, line] of lines) {
      expect(text, `${list} has a line ${after}`).toContain(`${after}\n`);
      text = text.replace(`${after}\n`, `${after}\n${line}\n`);
    }
    await writeFile(join(to, list), text);
  }
}

beforeAll(async () => {
  house = await mkdtemp(join(tmpdir(), 'drover-house-'));
  await copyHouse(house);
  await moveIn(house);
  await compile('-p', 'tsconfig.json');
  await compile('-p', 'tsconfig.build.json', '--noCheck');
  await inHouse(process.execPath, 'dist/scripts/generate.js');
  await inHouse(process.execPath, 'dist/scripts/bundle.js');
  await drover('up', '--data-dir', '.drover');
  kube = createKubeClient(loadKubeConfig({ file: join(house, '.drover', 'kubeconfig') }));
}, 300_000);
afterAll(async () => {
  await drover('down', '--data-dir', '.drover').catch(() => undefined);
  await rm(house, { recursive: true, force: true });
});

const until = (kind: string, name: string, what: (found: KubeObject & Live) => boolean, apiVersion: string) =>
  poll(
    () => kube.get<KubeObject & Live>({ apiVersion, kind, namespace: 'default', name }),
    (found) => found !== undefined && what(found),
  );
interface Live {
  status?: { phase?: string; message?: string; colour?: string; observedGeneration?: number };
}
const TOYS = 'toy.drover.dev/v1';
const DR = 'dr.bkbcs.tencent.com/v1alpha1';
const create = (apiVersion: string, kind: string, name: string, spec: object) =>
  kube.create({ apiVersion, kind, metadata: { name, namespace: 'default' }, spec });

it('has every import where it may be, with the new files in it', async () => {
  const { stdout } = await inHouse(process.execPath, 'dist/scripts/house-page.js');
  expect(stdout).toMatch(/0 arrows/);
});

it('has definitions of the new kinds, made from their descriptors', async () => {
  const text = await readFile(join(house, 'deploy/crds/toy.drover.dev_errands.yaml'), 'utf8');
  expect(parse(text)).toMatchObject({ spec: { names: { kind: 'Errand', shortNames: ['errd'] } } });
});

it('a new kind of run runs, and the command line shows it', async () => {
  await create(TOYS, 'Errand', 'milk', { what: 'milk' });
  const found = await until('Errand', 'milk', ({ status }) => status?.phase === 'Succeeded', TOYS);
  expect(found?.status?.message).toBe('fetched milk');
  const { stdout } = await drover('get', 'errands', '--data-dir', '.drover');
  expect(stdout).toMatch(/milk +Succeeded/);
});

it('a new entity is looked after: from its creation, through a change, to its end', async () => {
  await create(TOYS, 'Lamp', 'desk', { colour: 'red' });
  await until('Lamp', 'desk', ({ status }) => status?.colour === 'red', TOYS);
  const key = { apiVersion: TOYS, kind: 'Lamp', namespace: 'default', name: 'desk' };
  await kube.patch(key, { spec: { colour: 'green' } }, { kind: 'merge' });
  const found = await until('Lamp', 'desk', ({ status }) => status?.observedGeneration === 2, TOYS);
  expect(found?.status).toMatchObject({ phase: 'Burning', colour: 'green' });
  const { stdout } = await drover('describe', 'lamp/desk', '--data-dir', '.drover');
  expect(stdout).toMatch(/Phase: +Burning/);
  await kube.delete(key);
  await poll(
    () => kube.get(key),
    (now) => now === undefined,
  );
});

it('the command line checks files of a new kind', async () => {
  const file = join(house, 'lamp.yaml');
  await writeFile(
    file,
    JSON.stringify({ apiVersion: TOYS, kind: 'Lamp', metadata: { name: 'a' }, spec: { colour: 1 } }),
  );
  await expect(drover('validate', file)).rejects.toThrow(
    'error InvalidField spec.colour: is 1; must be text',
  );
});

it('a new action type is carried out, checked and described', async () => {
  const spec = { actions: [{ name: 'say', type: 'Echo', echo: { text: 'hello' } }] };
  await create(DR, 'DRWorkflow', 'says', spec);
  await create(DR, 'DRPlan', 'says', {
    stages: [{ name: 's', workflows: [{ workflowRef: { name: 'says' } }] }],
  });
  await until('DRPlan', 'says', ({ status }) => status?.phase === 'Ready', DR);
  await create(DR, 'DRPlanExecution', 'says-1', { planRef: 'says', operationType: 'Execute' });
  const found = await until(
    'DRPlanExecution',
    'says-1',
    ({ status }) => status?.phase !== undefined && status.phase !== 'Running' && status.phase !== 'Pending',
    DR,
  );
  expect(JSON.stringify(found?.status)).toContain('"message":"hello"');
  const bad = { actions: [{ name: 'say', type: 'Echo', echo: { text: '' } }] };
  await expect(create(DR, 'DRWorkflow', 'bad', bad)).rejects.toThrow('echo.text');
});
