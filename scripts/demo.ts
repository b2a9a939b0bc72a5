/**
 * The main job from nothing: brings everything up on this machine, runs the switchover example and its revert with the
 * command line that a person would use, and reads every effect back. Ends with 1 when anything is not as it should be.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { executionName } from '../client/cli/plan/execution-name.js';
import { processTerminal } from '../client/cli/core/terminal.js';
import { keyOf } from '../kube/client.js';
import { createKubeClient } from '../kube/kubeconfig-client.js';
import type { KubeClient } from '../kube/client.js';
import { loadKubeConfig } from '../kube/config.js';
import type { KubeObject } from '../kube/object.js';
import { readEndpoints } from '../local/endpoints.js';
import type { Endpoints } from '../local/endpoints.js';
import { status } from '../local/index.js';
import { dataPaths } from '../local/paths.js';
import { packageRoot } from '../runtime/package-root.js';
import { checkRevert, checkSetUp, checkSwitchover } from './demo/checks.js';
import type { Check, Places } from './demo/checks.js';
import { NAMESPACE, PLAN, readExecution, readPlan } from './demo/shop.js';
import { startTrafficProcess, stopTrafficProcess } from './demo/traffic-process.js';

const HELP = `Brings everything up on this machine, moves the example shop to another site and back, and checks every effect.

  npm run demo                 and takes everything down at the end
  npm run demo -- --keep       leaves everything up, to look around
  npm run demo -- --down       takes down what --keep has left
  npm run demo -- --data-dir DIR   (default .drover-demo)
`;

const root = packageRoot();
const { values: flags } = parseArgs({
  options: {
    keep: { type: 'boolean', default: false },
    down: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
    'data-dir': { type: 'string', default: join(root, '.drover-demo') },
  },
});
const { out, outStyle: style } = processTerminal(process);
const paths = dataPaths(flags['data-dir']);
const dataDir = relative(process.cwd(), paths.root) || '.';
const started = Date.now();
const failed: Check[] = [];
let interrupted = false;

/** Runs the command line as a person would, on this terminal. */
async function drover(...args: string[]): Promise<number> {
  const command = [...args, '--data-dir', dataDir];
  out(style.dim(`$ npx drover ${command.join(' ')}`));
  const child = spawn(process.execPath, [join(root, 'dist', 'scripts', 'demo-cli.js'), ...command], {
    stdio: 'inherit',
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      resolve(code ?? 1);
    });
  });
}

async function mustRun(...args: string[]): Promise<void> {
  const code = await drover(...args);
  if (interrupted) throw new Error('interrupted');
  if (code !== 0)
    throw new Error(`drover ${args[0]} ended with ${code}; logs are in ${join(dataDir, 'logs')}`);
}

function heading(text: string): void {
  out('');
  out(style.bold(text));
}

function report(checks: Check[]): void {
  for (const check of checks) {
    out(`  ${style.sign(check.ok ? 'Succeeded' : 'Failed')} ${check.what}`);
    if (check.problem !== undefined) out(`      ${style.bad(check.problem)}`);
  }
  failed.push(...checks.filter((check) => !check.ok));
}

/** Applies the documents of a file of the example. */
async function apply(kube: KubeClient, file: string): Promise<void> {
  const text = await readFile(join(root, 'examples', 'switchover', file), 'utf8');
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
  for (const object of objects) {
    await kube.patch(keyOf(object), object, { kind: 'apply', force: true, fieldManager: 'demo' });
  }
  out(`  applied examples/switchover/${file} (${objects.length} objects)`);
}

async function waitReady(kube: KubeClient): Promise<void> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    const { status: found } = await readPlan(kube);
    if (found?.phase === 'Ready') return;
    if (Date.now() > deadline) {
      const ready = found?.conditions?.find(({ type }) => type === 'Ready');
      throw new Error(
        `plan ${PLAN} is ${found?.phase ?? 'not looked at'} after 15 s: ${ready?.message ?? 'is the bridge running?'}`,
      );
    }
    await sleep(50);
  }
}

async function takeDown(): Promise<void> {
  await stopTrafficProcess(paths.root);
  await drover('down');
}

async function whereToLook(
  endpoints: Endpoints | undefined,
  kube: KubeClient,
  names: string[],
  trafficManager: string,
): Promise<void> {
  heading(flags.keep ? 'Everything is still up; have a look' : 'Where things were');
  for (const name of names) {
    const { status: found } = await readExecution(kube, name);
    const { workflowId = '', namespace = endpoints?.temporalNamespace ?? 'default' } = found?.temporal ?? {};
    const ui = `${endpoints?.temporalUi}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}`;
    out(`  ${name.padEnd(30)} ${ui}`);
  }
  out(`  ${'traffic manager'.padEnd(30)} ${trafficManager}/state, ${trafficManager}/effects`);
  out(`  ${'kubeconfig'.padEnd(30)} ${relative(process.cwd(), paths.kubeconfig)}`);
  out(`  ${'logs'.padEnd(30)} ${relative(process.cwd(), paths.logs)}`);
  if (!flags.keep) {
    out(style.dim('  npm run demo -- --keep leaves all of it up'));
    return;
  }
  out(style.dim(`  npx drover describe ${names[0]} -n ${NAMESPACE} --data-dir ${dataDir}`));
  out(style.dim('  npm run demo -- --down takes it down'));
}

async function demo(): Promise<void> {
  heading('1. Bring up Kubernetes, Temporal, bridge and worker on this machine');
  await mustRun('up', '--ephemeral');
  const endpoints = await readEndpoints(paths.endpoints);
  const kube = createKubeClient(loadKubeConfig({ file: paths.kubeconfig }));
  const traffic = await startTrafficProcess(paths.root);
  const places: Places = { kube, trafficManager: traffic.url };
  out(`  a traffic manager listens at ${traffic.url}`);

  heading('2. Set up the web shop on site-a, and the plan that moves it');
  for (const file of ['00-setup.yaml', '10-workflows.yaml', '20-plan.yaml']) await apply(kube, file);
  await waitReady(kube);
  const setUp = await checkSetUp(places);
  report(setUp.checks);

  heading('3. Move it to site-b');
  const execution = executionName(PLAN, 'Execute');
  const common = ['-n', NAMESPACE, '--watch', '--yes'];
  await mustRun('run', PLAN, '-p', `trafficManager=${traffic.url}`, '--name', execution, ...common);
  heading('   Every effect, read back');
  report(await checkSwitchover(places, execution));

  heading('4. Revert: move it back to site-a');
  const revert = executionName(PLAN, 'Revert');
  await mustRun('revert', execution, '--name', revert, ...common);
  heading('   Everything is as it was before');
  report(await checkRevert(places, { execution, revert }, setUp.shop));

  await whereToLook(endpoints, kube, [execution, revert], traffic.url);
}

/** What an earlier demo has left must not look like an effect of this one. */
async function clearDataDir(): Promise<void> {
  if (!existsSync(paths.root)) return;
  const isOurs = existsSync(paths.state);
  if (!isOurs && (await readdir(paths.root)).length > 0) {
    throw new Error(
      `${dataDir} holds something else than an earlier demo; choose another folder with --data-dir`,
    );
  }
  const { processes } = await status({ dataDir: paths.root });
  if (processes.some(({ state }) => state === 'running')) {
    heading('An earlier demo is still up: taking it down');
    await takeDown();
  }
  await rm(paths.root, { recursive: true, force: true });
}

async function main(): Promise<number> {
  if (flags.help) {
    out(HELP.trimEnd());
    return 0;
  }
  if (flags.down) {
    await takeDown();
    return 0;
  }
  await clearDataDir();
  process.once('SIGINT', () => (interrupted = true));
  process.once('SIGTERM', () => (interrupted = true));
  let problem: string | undefined;
  try {
    await demo();
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error);
  }
  if (!flags.keep || interrupted) {
    heading('5. Take everything down');
    await takeDown();
  }

  heading(
    `Demo ${failed.length === 0 && problem === undefined ? style.good('succeeded') : style.bad('failed')} after ${Math.round((Date.now() - started) / 1000)} s`,
  );
  for (const { what, problem: why } of failed) out(`  ${style.bad(what)}: ${why}`);
  if (problem !== undefined) out(`  ${style.bad(problem)}`);
  return failed.length === 0 && problem === undefined ? 0 : 1;
}

// The kept connections would hold the process for some seconds.
process.exit(await main());
