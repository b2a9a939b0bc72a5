/** Runs as bridge and worker bring them to the server: pinned, fetched, planned, permitted. */
import { randomBytes, randomUUID } from 'node:crypto';
import { WRITTEN_ARTEFACTS, operationId } from '../../../api/terraform/operation-terms.js';
import type { PreparedOperation } from '../../../api/terraform/operation.js';
import type { OperationResult } from '../../../api/terraform/operation-result.js';
import type { RunPin, SlotView } from '../../../api/terraform/run-pin.js';
import { digestOf, good, type OwnServer } from './own-server.js';

/** What a run brings. */
export interface RunInputs {
  archive: Buffer;
  variables: Buffer;
  pin?: Partial<RunPin>;
}

/** A plan that was made somewhere: its result, and what it has written. */
export interface BakedPlan {
  result: OperationResult;
  artefacts: Map<string, Buffer>;
}

/** Where operations are to run. */
export const HOST = 'host-1';

const slotOf = async ({ worker }: OwnServer, run: string): Promise<SlotView> =>
  (await good(worker('GET', `/runs/v1/${run}/slot`))) as unknown as SlotView;

/** Gives the slot to a run; one that has it gives it back first. */
export async function takeSlot(server: OwnServer, run: string): Promise<SlotView> {
  const slot = await slotOf(server, run);
  if (slot.held?.kind === 'run' && slot.held.holder !== run) {
    const { turn, held } = slot;
    await good(server.worker('POST', `/runs/v1/${held.holder}/release`, { turn, to: { kind: 'free' } }));
  }
  return (await good(
    server.worker('POST', `/runs/v1/${run}/slot`, { turn: slot.turn }),
  )) as unknown as SlotView;
}

/** Pins a run, gives it the slot, and brings its snapshot. @returns its uid */
export async function makeRun(
  server: OwnServer,
  workspace: string,
  { archive, variables, pin = {} }: RunInputs,
): Promise<string> {
  const run = randomUUID();
  const path = `/runs/v1/${run}`;
  const whole: RunPin = {
    ...{ run, workspace, namespace: 'iac', runName: `run-${run}`, workspaceName: 'network' },
    ...{ type: 'plan_and_apply', isDestroy: false, isReconcile: false, targets: [], replace: [] },
    ...{ engine: { name: 'terraform', version: 'latest' }, workdir: '', executionMode: 'local' },
    ...{ planTimeoutMs: 60_000, applyTimeoutMs: 60_000 },
    ...pin,
  };
  await good(server.bridge('PUT', `${path}/pin`, whole));
  if (whole.type === 'plan_and_apply') await takeSlot(server, run);
  await good(server.worker('PUT', `${path}/artefact/archive`, archive));
  await good(server.worker('PUT', `${path}/artefact/variables`, variables));
  const digests = { archive: digestOf(archive), variables: digestOf(variables) };
  await good(server.worker('POST', `${path}/snapshot`, digests));
  return run;
}

/** Asks for an operation, as a worker does before it starts a runner. */
export async function prepare(server: OwnServer, id: string): Promise<Required<PreparedOperation>> {
  const asked = { executionMode: 'local', hostId: HOST };
  return (await good(
    server.worker('POST', `/ops/v1/${id}/prepare`, asked),
  )) as unknown as Required<PreparedOperation>;
}

export const preparePlan = (server: OwnServer, run: string): Promise<Required<PreparedOperation>> =>
  prepare(server, operationId(run, { kind: 'plan', n: 1 }));

/** Permits the plan of a run, and asks for its apply. */
export async function prepareApply(
  server: OwnServer,
  run: string,
  { isPermitted = true }: { isPermitted?: boolean } = {},
): Promise<Required<PreparedOperation>> {
  const { planDigest } = await good(server.worker('GET', `/runs/v1/${run}/plan`));
  if (isPermitted) await good(server.bridge('PUT', `/runs/v1/${run}/permit`, { planDigest, answers: [] }));
  return prepare(server, operationId(run, { kind: 'apply' }));
}

/** Brings a plan that was made elsewhere, as its runner would. */
export async function bringPlan(
  server: OwnServer,
  run: string,
  { result, artefacts }: BakedPlan,
): Promise<void> {
  const { operation } = await preparePlan(server, run);
  const { id, lineage, serial } = operation;
  const ask = server.as({ purpose: 'operation', id });
  const path = `/ops/v1/${id}`;
  const nonce = randomBytes(32).toString('hex');
  const { runner, engine } = result;
  await good(ask('POST', `${path}/begin`, { nonce, runner, engine, lineage, serial }));
  for (const name of WRITTEN_ARTEFACTS) {
    const bytes = artefacts.get(name);
    if (bytes !== undefined) await good(ask('PUT', `${path}/artefact/${name}`, bytes));
  }
  await good(ask('PUT', `${path}/result`, { ...result, operation: id }));
}

/** What the plan of a run has left. */
export async function takePlan(server: OwnServer, run: string, result: OperationResult): Promise<BakedPlan> {
  const artefacts = new Map<string, Buffer>();
  for (const name of WRITTEN_ARTEFACTS) {
    const { status, bytes } = await server.worker('GET', `/runs/v1/${run}/artefact/${name}`);
    if (status === 200) artefacts.set(name, bytes);
  }
  return { result, artefacts };
}
