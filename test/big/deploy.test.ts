/**
 * The life of an installation in one go, by the commands of the manual (docs/install.md, docs/backup.md): rendered, applied,
 * ready, a run, an upgrade under load, a backup, the loss of cluster and Temporal, a restore, the revert of the old run, and
 * the end: `npm run verify:deploy`. Prints what each step took.
 */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { API_VERSION, LABELS } from '../../api/core/group.js';
import type { Action, DRPlanExecution } from '../../api/plan/types.js';
import type { KubeObject } from '../../kube/object.js';
import { parseKubeconfig } from '../../local/kubeconfig.js';
import { createAccount } from '../support/accounts.js';
import { startRecorder } from '../support/recorder.js';
import type { Recorder } from '../support/recorder.js';
import { startSecondTemporal } from '../support/second-temporal.js';
import type { SecondTemporal } from '../support/second-temporal.js';
import { http, poll } from '../support/stack.js';
import { startProgram } from './chart/programs.js';
import { blocksOf, openSite, ringIn } from './chart/site.js';
import type { Site } from './chart/site.js';
import { tell } from './sizes.js';

const SYSTEM = 'drover-system';
const SHOP = 'shop';
const FIRST_RUN = 'switch-1';
/** Runs that an upgrade meets, of which each waits long enough to see both releases. */
const LOAD = 12;
const WAIT = '20s';

interface Installation {
  site: Site;
  temporal: SecondTemporal;
  programs: { stop(): Promise<void> }[];
}

let recorder: Recorder;
let commands: (heading: string) => string[];
let values: string;
let archive: string;
/** Keys of seals when the backup was taken. */
let keys: Record<string, string> | undefined;
let first: Installation;
let second: Installation;
const times: [step: string, seconds: number][] = [];

beforeAll(async () => {
  recorder = await startRecorder();
  commands = await blocksOf('docs/install.md', 'sh');
  [values = ''] = (await blocksOf('docs/install.md', 'yaml'))('Install');
  archive = join(await mkdtemp(join(tmpdir(), 'drover-backup-')), 'drover.tar');
});
afterAll(async () => {
  for (const installation of [first, second]) await lose(installation);
  await recorder?.close();
  for (const [step, seconds] of times) tell(`${step.padEnd(44)} ${seconds.toFixed(1).padStart(6)} s`);
});

/** A step of the life, with the time that it takes. */
const step = (title: string, work: () => Promise<void>): void => {
  it(title, async () => {
    const began = performance.now();
    await work();
    times.push([title, (performance.now() - began) / 1000]);
  });
};

/** An empty cluster and an empty Temporal. */
async function open(name: string): Promise<Installation> {
  const temporal = await startSecondTemporal();
  const site = await openSite({ name, temporal: temporal.address });
  await writeFile(join(site.release, 'drover-values.yaml'), values);
  return { site, temporal, programs: [] };
}

/** All of an installation at once. */
async function lose(installation: Installation | undefined): Promise<void> {
  if (installation === undefined) return;
  const { site, temporal, programs } = installation;
  await Promise.all(programs.splice(0).map((program) => program.stop()));
  await site.stop();
  await temporal.stop();
}

/** Starts bridge and worker as the Deployments say, and then ends those of before. */
async function roll(installation: Installation): Promise<void> {
  const { site, temporal, programs } = installation;
  const { server, ca } = parseKubeconfig(await readFile(site.kubeconfig, 'utf8'));
  const options = {
    kube: site.kube,
    namespace: SYSTEM,
    folder: site.release,
    server,
    ca,
    temporal: temporal.address,
    // What the plans call listens here, and not on another machine.
    env: { DROVER_EGRESS_ALLOW_LOOPBACK: 'true' },
  };
  const before = programs.splice(0);
  programs.push(await startProgram('bridge', options), await startProgram('worker', options));
  await Promise.all(before.map((program) => program.stop()));
}

/** What a team brings along, and no backup of Drover has: its namespace is without admission, since pods do not run here. */
async function bringTeam({ kube }: Site): Promise<void> {
  await kube
    .create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: SHOP, labels: { [LABELS.admission]: 'disabled' } },
    })
    .catch(() => undefined);
  await createAccount(kube, { namespace: SHOP, name: 'shop-dr' }, [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'update', 'delete'] },
  ]);
}

const create = ({ kube }: Site, kind: string, name: string, spec: object) =>
  kube.create({ apiVersion: API_VERSION, kind, metadata: { namespace: SHOP, name }, spec });

async function plan(site: Site, name: string, actions: Action[]): Promise<void> {
  await create(site, 'DRWorkflow', name, { actions });
  await create(site, 'DRPlan', name, {
    serviceAccountName: 'shop-dr',
    stages: [{ name: 'only', workflows: [{ workflowRef: { name } }] }],
  });
}

const executionOf = ({ kube }: Site, name: string) =>
  kube.get<DRPlanExecution>({ apiVersion: API_VERSION, kind: 'DRPlanExecution', namespace: SHOP, name });
const ended = (site: Site, name: string) =>
  poll(
    () => executionOf(site, name),
    (found) => ['Succeeded', 'Failed', 'Cancelled'].includes(found?.status?.phase ?? ''),
    120_000,
  );
const drover = (site: Site, ...args: string[]): Promise<string> =>
  site.shell(`${process.execPath} bin/drover.js ${args.join(' ')} --use-current-cluster`, process.cwd());

step('an empty cluster and an empty Temporal', async () => {
  first = await open('deploy-first');
});

step('rendered: nothing to be refused', async () => {
  const rendered = await first.site.helm.output(
    ['template', 'drover', 'deploy/chart', '-n', SYSTEM, '--values', 'drover-values.yaml'],
    { cwd: first.site.release },
  );
  expect(rendered).toContain('kind: Deployment');
});

step('installed and ready', async () => {
  await bringTeam(first.site);
  for (const line of commands('Install').slice(0, -1)) await first.site.shell(line, first.site.release);
  await roll(first);
});

step('a run', async () => {
  const undo = { rollback: { http: { url: `${recorder.url}/first/undo` } } };
  await plan(first.site, 'switch', [http('call', `${recorder.url}/first/do`, undo)]);
  await create(first.site, 'DRPlanExecution', FIRST_RUN, { planRef: 'switch', operationType: 'Execute' });
  expect((await ended(first.site, FIRST_RUN))?.status).toMatchObject({ phase: 'Succeeded' });
  expect(recorder.effects('/first/do')).toBe(1);
});

step(`an upgrade under ${LOAD} runs`, async () => {
  const names = Array.from({ length: LOAD }, (_, index) => `load-${index}`);
  for (const name of names) {
    await plan(first.site, name, [
      http('before', `${recorder.url}/${name}/before`),
      { name: 'wait', type: 'Wait', wait: { duration: WAIT } },
      http('after', `${recorder.url}/${name}/after`),
    ]);
    await create(first.site, 'DRPlanExecution', name, { planRef: name, operationType: 'Execute' });
  }
  await poll(
    () => Promise.resolve(names.filter((name) => recorder.effects(`/${name}/before`) === 1)),
    (begun) => begun.length === LOAD,
    60_000,
  );
  for (const line of commands('Upgrade')) await first.site.shell(line, first.site.release);
  await roll(first);
  expect(names.filter((name) => recorder.effects(`/${name}/after`) > 0)).toEqual([]);
  for (const name of names) {
    expect((await ended(first.site, name))?.status, name).toMatchObject({ phase: 'Succeeded' });
    expect(recorder.effects(`/${name}/before`), name).toBe(1);
    expect(recorder.effects(`/${name}/after`), name).toBe(1);
  }
});

step('a backup', async () => {
  keys = await ringIn(first.site, SYSTEM);
  expect(Object.keys(keys ?? {})).toHaveLength(1);
  await drover(first.site, 'backup', archive, '--with-secrets');
});

step('cluster and Temporal are lost', async () => {
  await lose(first);
});

step('an empty cluster and an empty Temporal, again', async () => {
  second = await open('deploy-second');
});

step('restored', async () => {
  await second.site.shell('kubectl apply --server-side -f deploy/crds', second.site.release);
  await bringTeam(second.site);
  await drover(second.site, 'restore', archive, '--create-namespaces', '--yes');
  expect(await ringIn(second.site, SYSTEM)).toEqual(keys);
  expect((await executionOf(second.site, FIRST_RUN))?.status).toMatchObject({ phase: 'Succeeded' });
});

step('installed again and ready', async () => {
  // The definitions are there already, and not by Helm.
  for (const line of commands('Install').slice(0, -1))
    await second.site.shell(
      line.replace(/^helm install/, 'helm install --take-ownership'),
      second.site.release,
    );
  await roll(second);
});

step('the old run is reverted', async () => {
  await create(second.site, 'DRPlanExecution', 'switch-back', {
    planRef: 'switch',
    operationType: 'Revert',
    revertExecutionRef: FIRST_RUN,
  });
  const revert = await ended(second.site, 'switch-back');
  expect(revert?.status, revert?.status?.message).toMatchObject({ phase: 'Succeeded' });
  expect(recorder.effects('/first/undo')).toBe(1);
  // Nothing that is restored runs again.
  expect(recorder.of('/first/do')).toHaveLength(1);
});

step('uninstalled, and nothing hangs', async () => {
  for (const line of commands('Uninstall')) await second.site.shell(line, second.site.release);
  const left = await second.site.kube.list<KubeObject>({ apiVersion: 'apps/v1', kind: 'Deployment' });
  expect(left.items.filter(({ metadata }) => metadata.namespace === SYSTEM)).toEqual([]);
  expect(await executionOf(second.site, FIRST_RUN)).toBeDefined();
});
