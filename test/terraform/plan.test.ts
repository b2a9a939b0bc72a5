/** A plan by the real engine, through a runner of its own process. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OPERATION_STEPS } from '../../api/terraform/operation-terms.js';
import type { OperationResult } from '../../api/terraform/operation-result.js';
import { noting } from './support/configurations.js';
import { good } from './support/own-server.js';
import { createRig, filesIn, gone, until, verdictOf, type PieceOptions, type Rig } from './support/rig.js';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.close());

async function planned(options: PieceOptions) {
  const plan = await rig.plan(options);
  await plan.start();
  const result = await plan.result();
  return { plan, result, verdict: verdictOf(result) };
}

it('a plan is made, stored and read back, and says what changes [T6.1] [T6.2] [T4.4]', async () => {
  const { plan, result, verdict } = await planned({
    files: `resource "terraform_data" "odd" {\n  for_each = toset(["a b", "c/d:e \\"f\\""])\n  input = each.key\n}\noutput "o" { value = 1 }\n`,
  });
  expect(verdict).toEqual({ phase: 'planned', hasChanges: true });
  expect(result).toMatchObject({
    engine: {
      name: 'terraform',
      version: plan.order.engine!.version,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
    end: { kind: 'engine', end: { kind: 'exited', code: 2 } },
    plan: { add: 2, change: 0, destroy: 0, outputs: ['o'] },
  });
  expect(result.plan?.resources.map(({ address }) => address)).toEqual([
    'terraform_data.odd["a b"]',
    'terraform_data.odd["c/d:e \\"f\\""]',
  ]);
  const stored = async (name: string): Promise<Buffer> =>
    (await rig.server.worker('GET', `/runs/v1/${plan.run}/artefact/${name}`)).bytes;
  expect((await stored('planJson')).toString('utf8')).toContain('"format_version":"1.');
  expect((await stored('planFile')).subarray(0, 2).toString()).toBe('PK');
  expect(await plan.log()).toContain('"type":"change_summary"');
  const steps = plan.seen().syncs.map(({ step }) => OPERATION_STEPS.indexOf(step));
  expect(steps).toEqual([...steps].sort((a, b) => a - b));
  expect(steps.at(-1)).toBe(OPERATION_STEPS.indexOf('saving_plan'));
});

it('the exit code alone says whether anything changes: outputs count, nothing does not [T6.1]', async () => {
  const outputs = await planned({ files: 'output "o" { value = 1 }\n' });
  expect(outputs.verdict).toEqual({ phase: 'planned', hasChanges: true });
  expect(outputs.result.plan).toMatchObject({ add: 0, change: 0, destroy: 0, resources: [], outputs: ['o'] });
  const nothing = await planned({ files: 'locals {\n  a = 1\n}\n' });
  expect(nothing.verdict).toEqual({ phase: 'planned', hasChanges: false });
});

it('mode, targets and replacements reach the engine', async () => {
  const files = noting('first') + noting('second');
  const apply = await rig.planned({ files });
  await apply.start();
  expect(verdictOf(await apply.result())).toEqual({ phase: 'applied' });
  const counts = async (plan: NonNullable<PieceOptions['operation']>['plan']) =>
    (await planned({ files, operation: { plan } })).result.plan;
  expect(await counts({ mode: 'destroy', targets: [], replace: [] })).toMatchObject({ add: 0, destroy: 2 });
  expect(await counts({ mode: 'destroy', targets: ['terraform_data.first'], replace: [] })).toMatchObject({
    destroy: 1,
  });
  expect(await counts({ mode: 'normal', targets: [], replace: ['terraform_data.first'] })).toMatchObject({
    add: 1,
    destroy: 1,
  });
  expect(await counts({ mode: 'refreshOnly', targets: [], replace: [] })).toMatchObject({
    hasChanges: false,
  });
});

/** Configurations that give no plan: files, what else is odd, reason and message. */
const REFUSED = [
  ['syntax', { 'main.tf': 'resource "x" {\n' }, {}, 'InitFailed', /init/],
  [
    'an unknown reference',
    { 'main.tf': 'output "o" {\n  value = local.none\n}\n' },
    {},
    'PlanFailed',
    /main\.tf:2: .*Reference to undeclared local value/,
  ],
  [
    'a provider that is not to be had',
    { 'main.tf': 'resource "null_resource" "x" {}\n' },
    {},
    'InitFailed',
    /init: /,
  ],
  [
    'a backend',
    { 'main.tf': 'terraform {\n  backend "http" {}\n}\n' },
    {},
    'BackendConflict',
    /main\.tf, line 2/,
  ],
  [
    'a backend in JSON',
    { 'x.tf.json': '{"terraform":[{"backend":{"http":{}}}]}' },
    {},
    'BackendConflict',
    /x\.tf\.json, line 1/,
  ],
  [
    'encryption',
    { 'main.tf': 'terraform {\n  encryption {}\n}\n' },
    {},
    'EncryptionUnsupported',
    /encryption/,
  ],
  [
    'a workdir that is not there',
    { 'main.tf': '' },
    { workdir: 'env/prod' },
    'InvalidConfiguration',
    /workdir is "env\/prod"/,
  ],
  ['an archive that leads out', { '../x.tf': '' }, {}, 'InvalidArchive', /leads out of the archive/],
  [
    'an engine that is not here',
    { 'main.tf': '' },
    { engine: { name: 'terraform', version: '1.2.3' } },
    'EngineNotFound',
    /no terraform 1\.2\.3/,
  ],
  [
    'an archive that is not the one that was pinned',
    { 'main.tf': '' },
    { inputs: { archive: '0'.repeat(64) } },
    'FetchFailed',
    /was stored with digest/,
  ],
  ['no configuration', { 'main.tf': '' }, { inputs: {} }, 'FetchFailed', /has no configuration/],
] as const;

it('a plan that is not made says why [T5.2] [T5.3] [T2.4]', async () => {
  // No provider is looked for on the network.
  const cliConfigFile = join(rig.scratch, 'mirror.tfrc');
  await writeFile(
    cliConfigFile,
    `provider_installation {\n  filesystem_mirror {\n    path = "${rig.scratch}"\n  }\n}\n`,
  );
  const ends = await Promise.all(
    REFUSED.map(([, files, operation]) =>
      planned({ files: { ...files }, operation: { ...operation }, order: { cliConfigFile } }),
    ),
  );
  expect(ends.map(({ verdict }, index) => [REFUSED[index]?.[0], verdict])).toEqual(
    REFUSED.map(([name, , , reason, message]) => [
      name,
      { phase: 'failed', reason, message: expect.stringMatching(message) },
    ]),
  );
  expect(ends.every(({ result }) => result.written === undefined)).toBe(true);
});

it('a state of a newer engine is not planned on [T5.3]', async () => {
  const newer = {
    version: 4,
    terraform_version: '99.0.0',
    serial: 1,
    lineage: 'l',
    outputs: {},
    resources: [],
  };
  await rig.setState(Buffer.from(JSON.stringify(newer)));
  const { verdict } = await planned({ files: 'output "o" { value = 1 }\n' });
  expect(verdict).toMatchObject({ reason: 'EngineTooOld', message: expect.stringContaining('99.0.0') });
});

it('a plan that takes too long is interrupted, then killed, and leaves no plan file [T7.7]', async () => {
  const engine = await hanging('plan');
  const plan = await rig.plan({
    files: 'output "o" { value = 1 }\n',
    operation: { timeoutMs: 300 },
    times: { kill: 300 },
    order: { engine },
  });
  await plan.start();
  const result = await plan.result();
  expect(result).toMatchObject({
    end: { kind: 'engine', end: { kind: 'signalled', signal: 'SIGKILL', byUs: true } },
    interrupted: { by: 'timeout' },
  });
  expect(verdictOf(result)).toMatchObject({ phase: 'failed', reason: 'PlanTimeout' });
  expect(result.leftProcesses).toBe(1);
});

it('a plan that is cancelled ends at once, and what it left is discarded [T7.7]', async () => {
  const plan = await rig.plan({
    files: 'output "o" { value = 1 }\n',
    order: { engine: await hanging('plan', 'trap "exit 1" INT; sleep 30 & wait') },
  });
  await plan.start();
  await until('the plan', async () => (await plan.record()).state === 'started');
  await plan.control({ kind: 'interrupt', order: { by: 'request', reason: 'somebody asked' } });
  const result = await plan.result();
  expect(verdictOf(result)).toMatchObject({ phase: 'cancelled', message: 'somebody asked' });
  expect(result.end).toEqual({ kind: 'engine', end: { kind: 'exited', code: 1 } });
});

it('what is told to stop before it has begun never begins [T7.1]', async () => {
  const plan = await rig.plan({ files: 'output "o" { value = 1 }\n' });
  const reason = 'cancelled by somebody';
  await good(rig.server.worker('POST', `/ops/v1/${plan.id}/revoke`, { kind: 'revoke', reason }));
  await gone(await plan.start());
  const { end } = JSON.parse(await readFile(plan.paths.result, 'utf8')) as OperationResult;
  expect(end).toEqual({
    kind: 'refused',
    reason: expect.stringMatching(/^(Revoked|Cancelled)$/),
    message: expect.stringContaining(reason),
  });
  expect(await plan.record()).toMatchObject({ state: 'revoked', reason });
  expect(await plan.log()).not.toContain('change_summary');
});

/** An engine that does not come to an end with one of its commands; what it does otherwise is the real one's. */
async function hanging(command: string, how = 'trap "" INT; sleep 30 & wait; wait') {
  const { terraformHere } = await import('./support/rig.js');
  const real = await terraformHere();
  const path = join(rig.scratch, 'terraform');
  await writeFile(path, `#!/bin/sh\nif [ "$1" = ${command} ]; then ${how}; fi\nexec ${real.path} "$@"\n`, {
    mode: 0o755,
  });
  return { ...real, path };
}

describe('what the engine sees is built [T5.4]', () => {
  const show = (names: string[]): string => names.map((name) => `echo '${name}='"$${name}"`).join('; ');

  it('of the host it sees what is passed on, and of the workspace its variables', async () => {
    const names = ['DROVER_CANARY', 'PASSED', 'OWN', 'TF_IN_AUTOMATION', 'TF_INPUT', 'HOME', 'NODE_OPTIONS'];
    const files = `resource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "{ ${show(names).replaceAll('"', '\\"')}; } > '${rig.scratch}/env'"\n  }\n}\n`;
    const apply = await rig.planned({
      files,
      variables: [{ key: 'OWN', value: 'of the workspace', variableType: 'environment' }],
      order: { passEnvironment: ['PASSED'] },
      env: { DROVER_CANARY: 'of the worker', PASSED: 'of the host', NODE_OPTIONS: '--no-warnings' },
    });
    await apply.start();
    await apply.result();
    expect(await readFile(join(rig.scratch, 'env'), 'utf8')).toBe(
      `DROVER_CANARY=\nPASSED=of the host\nOWN=of the workspace\nTF_IN_AUTOMATION=1\nTF_INPUT=0\nHOME=${apply.paths.home}\nNODE_OPTIONS=\n`,
    );
  });

  it('a secret leaves the host in no line of its output, and lies in private files alone [T5.5]', async () => {
    const secret = 'canary-<&>-"quoted"-ümlaut';
    const files = `variable "s" { sensitive = true }\nresource "terraform_data" "x" {\n  provisioner "local-exec" {\n    command = "printenv SECRET; printenv SECRET | base64; printf '%s' '\${nonsensitive(var.s)}'"\n  }\n}\noutput "said" { value = "it is \${nonsensitive(var.s)}" }\n`;
    const apply = await rig.planned({
      files,
      variables: [
        { key: 's', value: 'canary-in-a-variable', sensitive: true },
        { key: 'SECRET', value: secret, variableType: 'environment', sensitive: true },
      ],
    });
    await apply.start();
    const result = await apply.result();
    expect(verdictOf(result)).toEqual({ phase: 'applied' });
    const sent = JSON.stringify([
      apply.seen().syncs,
      await apply.record(),
      await rig.server.store.operations.ofRun(apply.run),
    ]);
    expect(sent).toContain('[redacted]');
    expect(sent).not.toContain('canary');
    expect(sent).not.toContain(Buffer.from(secret).toString('base64').slice(0, 16));
    const owned = await stat(apply.paths.root);
    expect((owned.mode & 0o777).toString(8)).toBe('700');
    for (const name of await filesIn(rig.scratch)) {
      if (name.startsWith('ops/') || !(await stat(join(rig.scratch, name))).isFile()) continue;
      expect(await readFile(join(rig.scratch, name), 'utf8')).not.toContain('canary');
    }
  });
});
